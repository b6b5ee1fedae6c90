"""Reads the small part of YAML that notes and scripted chats use: keys, lists, four kinds of scalars."""

import re
from collections.abc import Iterator

_ITEM = re.compile(r"( *)-(?: +(.*)|$)")
_KEY = re.compile(r"( *)([A-Za-z_][\w-]*):(?:\s+(.*)|$)")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?\s*(?:#.*)?")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "0": "\0", "r": "\r", " ": " "}
_ESCAPE = re.compile(r"\\(?:(\n)|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")


def indent_of(line: str) -> int:
    """Return the number of leading blanks."""
    return len(line) - len(line.lstrip(" "))


def scalar(first: str, following: list[str]) -> str:
    """Return a scalar: `first` stands after the marker, `following` are the deeper lines below it."""
    if _BLOCK.fullmatch(first):
        return _block(first, following)
    text = "\n".join([first, *(line.strip() for line in following)]).strip()
    if text[:1] in {'"', "'"}:
        return _quoted(text)
    lines = (re.sub(r"(?:^|\s)#.*", "", line) for line in text.split("\n"))
    return _fold("\n".join(line.strip() for line in lines)).strip()


def _quoted(text: str) -> str:
    mark = text[0]
    end = re.match(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", text, re.DOTALL)
    body = end[0][1:-1] if end else text[1:]
    if mark == "'":
        return _fold(body.replace("''", "'"))
    return _ESCAPE.sub(_unescape, _fold(body))


def _unescape(match: re.Match[str]) -> str:
    broken, hex2, hex4, sign = match.groups()
    if broken:
        return ""
    return chr(int(hex2 or hex4, 16)) if hex2 or hex4 else _ESCAPES.get(sign, sign)


def _block(style: str, lines: list[str]) -> str:
    filled = [line for line in lines if line.strip()]
    margin = min((indent_of(line) for line in filled[:1]), default=0)
    body = "\n".join(line[min(margin, indent_of(line)) :].rstrip() if line.strip() else "" for line in lines)
    return body.strip("\n") if style[0] == "|" else _fold(body.strip("\n"))


def _fold(text: str) -> str:
    """Join lines with a blank; an empty line becomes a line end; lines that are further indented stay as they are."""
    out, empty, kept = "", 0, False
    for line in text.split("\n"):
        if not line.strip():
            empty += 1
            continue
        keep = line.startswith((" ", "\t"))
        ends = empty + (keep or kept)
        out += ("\n" * ends or " " * bool(out)) + line
        empty, kept = 0, keep
    return out


def blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each top-level key with the lines below it; text after the key comes as a first line of its own."""
    key, below = "", list[str]()
    for line in lines:
        match = _KEY.fullmatch(line) if line and not line.startswith((" ", "#", "-")) else None
        if match:
            if key:
                yield key, below
            key, below = match[2], [match[3] or ""]
        elif not line.startswith(("#", "---", "...")):
            below.append(line)
    if key:
        yield key, below


def items(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each item of the outermost list in these lines: the text after its dash, and the deeper lines below."""
    margin: int | None = None
    first, below = None, list[str]()
    for line in lines:
        match = _ITEM.fullmatch(line)
        if match and (margin is None or len(match[1]) <= margin):
            if first is not None:
                yield first, below
            margin, first, below = len(match[1]), match[2] or "", []
        elif first is not None:
            below.append(line)
    if first is not None:
        yield first, below

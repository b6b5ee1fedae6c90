"""Text tools that readers share: hashing, decoding, normalising, and cutting long text into passages."""

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from andrea_core.errors import CorpusError

PASSAGE_CHARS = (2000, 3600)
"""A passage closes at the first paragraph end past the first number and never exceeds the second."""
_TAIL_CHARS = 400
_CHUNK_BYTES = 1 << 20
_NON_WORD = re.compile(r"\W+")
_LINE_END = re.compile(r"\r+\n|\r")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)*\n")
_SENTENCE_END = re.compile(r"""(?<=[.!?])\s+|(?<=[.!?]["'\u201d\u2019)\]])\s+""")


def hash64(*parts: str) -> int:
    """Return the first 8 bytes of the sha256 of the parts, joined by NUL, as an unsigned number.

    The only source of "randomness" in a corpus: which documents are taken, and which are held out.
    """
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:8], "big")


def normalise(text: str) -> str:
    """Return the text in lower case with every run of non-word characters as one blank, ends stripped."""
    return _NON_WORD.sub(" ", text.lower()).strip()


def text_key(text: str) -> str:
    """Return the sha256 (hexadecimal) of the normalised text: it ignores case and punctuation."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()


def decode_text(data: bytes) -> str:
    """Return bytes as text: UTF-8 without its byte order mark, else Windows-1252; every line end becomes a newline.

    A run of carriage returns before a newline is one line end.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return plain_newlines(text)


def plain_newlines(text: str) -> str:
    """Return the text with a newline for each line end of any kind."""
    return _LINE_END.sub("\n", text)


def unwrap(text: str) -> str:
    """Return the lines of a text, stripped, as one line with one blank between them; empty ones go."""
    return " ".join(line for line in map(str.strip, text.splitlines()) if line)


def paragraphs(text: str) -> list[str]:
    """Return the parts between blank lines, with their indentation, without empty ones."""
    return [part for part in _BLANK_LINES.split(text.strip("\n")) if part.strip()]


def cut_passages(parts: Iterable[str], chars: tuple[int, int] = PASSAGE_CHARS, joint: str = "\n\n") -> Iterator[str]:
    """Pack paragraphs, in order, into passages.

    Args:
        parts: the paragraphs; one longer than `chars[1]` is first cut at sentence ends, then at line ends or blanks.
        chars: a passage is closed when it has `chars[0]` characters, or when the next part would take it past
            `chars[1]`; every part counts with a joint.
        joint: what stands between two paragraphs of a passage.

    Yields:
        The passages; a last one under 400 characters joins the one before where both fit.
    """
    held: list[list[str]] = []
    for passage in _pack(parts, *chars, len(joint)):
        held.append(passage)
        if len(held) > 2:
            yield joint.join(held.pop(0))
    if len(held) == 2:
        before, last = (_length(passage, len(joint)) for passage in held)
        if last < _TAIL_CHARS and before + last <= chars[1]:
            held = [held[0] + held[1]]
    yield from map(joint.join, held)


def _length(parts: list[str], joint: int) -> int:
    return sum(map(len, parts)) + joint * len(parts)


def _pack(parts: Iterable[str], low: int, high: int, joint: int) -> Iterator[list[str]]:
    passage, size = list[str](), 0
    for piece in (piece for part in parts for piece in cut_long(part, high)):
        if passage and (size >= low or size + len(piece) + joint > high):
            yield passage
            passage, size = [], 0
        passage.append(piece)
        size += len(piece) + joint
    if passage:
        yield passage


def cut_long(part: str, high: int) -> list[str]:
    """Return a paragraph as pieces of at most `high` characters, cut at sentence ends, else at a line end or blank."""
    if len(part) <= high:
        return [part]
    pieces: list[str] = []
    start, end = 0, 0
    for match in [*_SENTENCE_END.finditer(part), None]:
        stop, following = (match.start(), match.end()) if match else (len(part), len(part))
        if stop - start > high:
            if end > start:
                pieces.append(part[start:end].rstrip())
                start = end
            while stop - start > high:
                cut = _blank_before(part, start, start + high)
                pieces.append(part[start:cut].rstrip())
                start = cut
        end = following
    return [piece for piece in [*pieces, part[start:].strip()] if piece]


def _blank_before(text: str, start: int, stop: int) -> int:
    for mark in ("\n", " "):
        found = text.rfind(mark, start + 1, stop)
        if found > start:
            return found + 1
    return stop


def read_parts(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the paragraphs of a file without holding the file in memory.

    Raises:
        CorpusError: the file cannot be read, or is not in this encoding (the message gives the byte offset).
    """
    lines: list[str] = []
    for line in read_lines(path, encoding):
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file without their line ends; a byte order mark is dropped. Raises CorpusError."""
    held = ""
    for chunk in _decoded(path, encoding):
        lines = plain_newlines(held + chunk.removesuffix("\r")).split("\n")
        held = lines.pop() + chunk[len(chunk.removesuffix("\r")) :]
        yield from lines
    yield from plain_newlines(held).split("\n") if held else ()


def _decoded(path: Path, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    position = 0
    try:
        with path.open("rb") as file:
            while True:
                data = file.read(_CHUNK_BYTES)
                pending = len(decoder.getstate()[0])
                text = decoder.decode(data, final=not data)
                if encoding != "utf-8":
                    text.encode()  # some decoders let lone surrogates pass
                yield text.removeprefix("\ufeff") if position == 0 else text
                position += len(data)
                if not data:
                    return
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path} is not {encoding}: byte {error.object[error.start]:#04x} at offset "
            f"{position - pending + error.start}. Convert the file to UTF-8, or name its encoding."
        ) from None
    except UnicodeError as error:  # some codecs give no offset
        raise CorpusError(
            f"{path} is not {encoding}: {error}. Convert the file to UTF-8, or name its encoding."
        ) from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}. Check the path and its permissions.") from None

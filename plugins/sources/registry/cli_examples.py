"""Reads worked examples of a command line: a task, the command, and what it prints."""

import re
import textwrap
from collections.abc import Iterable, Iterator

import attrs

from andrea_core import decode_text, paragraphs, unwrap
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry

_TITLE = re.compile(r"^\*\*(.+?)\*\*[ \t]*$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"^\.\. _.*\n?", re.MULTILINE)
_NUMBER = re.compile(r"^Example \d+\s*:\s*", re.IGNORECASE)
_LABELS = {"", "Command", "Output"}
_REFERENCE = "For more information, see"


@attrs.frozen
class _Part:
    """A paragraph of prose, or (`code`) an indented block under the paragraph `text`, which ends in `::`."""

    text: str
    code: str = ""


def sessions(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield `User:` task, `Assistant:` sentence and `$ command`, `Tool:` output, one document an example."""
    limit = entry.options["max_output_chars"]
    for member in members:
        split = _TITLE.split(_TARGET.sub("", decode_text(member.data) + "\n"))
        for title, body in zip(split[1::2], split[2::2], strict=True):
            document = _session(_NUMBER.sub("", unwrap(title)), list(_parts(body)), limit)
            if document:
                yield Piece(member.path, document)


def _session(title: str, parts: list[_Part], limit: int) -> str:
    command = next((n for n, part in enumerate(parts) if part.code.startswith("aws")), None)
    if command is None:
        return ""
    output = next((n for n in range(command + 1, len(parts)) if parts[n].text == "Output"), len(parts))
    lines = [f"User: {title}", f"Assistant: {' '.join(_prose(parts[: command + 1]))}", f"$ {parts[command].code}"]
    lines += _prose(parts[command + 1 : output])
    if output < len(parts):
        lines.append(f"Tool: {parts[output].code[:limit]}")
    return "\n".join(lines)


def _prose(parts: list[_Part]) -> list[str]:
    return [part.text for part in parts if part.text not in _LABELS and not part.text.startswith(_REFERENCE)]


def _parts(body: str) -> Iterator[_Part]:
    label, code = None, list[str]()
    for paragraph in [*paragraphs(body), "."]:
        if label is not None and paragraph.startswith((" ", "\t")):
            code.append(paragraph)
            continue
        if label is not None:
            yield _Part(label, textwrap.dedent("\n\n".join(code)).strip())
        text = unwrap(paragraph)
        label, code = (text[:-2].rstrip(), []) if text.endswith("::") else (None, [])
        if label is None and text != ".":
            yield _Part(text)

"""Reads release notes and scripted chats, both YAML, and commit subjects from a change log."""

import re
from collections.abc import Iterable, Iterator

from andrea_core import decode_text, normalise, paragraphs, unwrap
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, passages
from andrea_plugins.sources.registry.recipe import Entry
from andrea_plugins.sources.registry.yaml_lists import blocks, items, scalar

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SUBJECT_CHARS = 12


def release_notes(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield every item of every section as `section: text`, packed into passages of one file."""
    for member in members:
        parts = list[str]()
        for section, lines in blocks(decode_text(member.data).split("\n")):
            parts.extend(f"{section}: {text}" for text in _texts(lines))
        yield from passages(entry, member.path, (part for text in parts for part in paragraphs(text)))


def _texts(lines: list[str]) -> Iterator[str]:
    """Yield the scalar below a key, or the scalars of the list below it; `lines[0]` stood on the key's own line."""
    filled = [line for line in lines if line.strip()]
    if filled and not filled[0].lstrip().startswith("- ") and filled[0].strip() != "-":
        start = lines.index(filled[0])
        yield scalar(filled[0].strip(), lines[start + 1 :])
    else:
        yield from (text for first, below in items(lines) if (text := scalar(first, below)))


def chats(_entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield conversations, lists of lines that alternate between `User:` and `Assistant:`."""
    for member in members:
        sections = dict(blocks(decode_text(member.data).split("\n")))
        for first, below in items(sections.get("conversations", [])):
            lines = _lines(first, below)
            if lines:
                roles = ("User", "Assistant")
                text = "\n".join(f"{roles[number % 2]}: {line}" for number, line in enumerate(lines))
                yield Piece(normalise(lines[0]), text)


def _lines(first: str, below: list[str]) -> list[str]:
    inner = [f"  {first}" if first.startswith("-") else f"  - {first}", *below]
    return [text for item in items(inner) if (text := scalar(*item))]


def subjects(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield lists of commit subjects, `subjects_per_doc` to a document; short, skipped and repeated ones go."""
    skip = re.compile(entry.options["skip"])
    count = entry.options["subjects_per_doc"]
    for member in members:
        lines = list(dict.fromkeys(_kept(decode_text(member.data), skip)))
        for start in range(0, len(lines), count):
            text = "\n".join(lines[start : start + count])
            yield Piece(f"{member.path}#{start // count}", text)


def _kept(text: str, skip: re.Pattern[str]) -> Iterator[str]:
    for match in re.finditer(r"^\* (.*(?:\n  +\S.*)*)", text, re.MULTILINE):
        subject = unwrap(match[1])
        if len(subject) >= _SUBJECT_CHARS and not skip.search(subject):
            yield _ESCAPE.sub(r"\1", subject)

"""Reads novels and essays: front matter, notes and editorial marks go, paragraphs become lines."""

import re
from collections.abc import Iterable, Iterator

from andrea_core import decode_text, paragraphs
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, blocks
from andrea_plugins.sources.registry.recipe import Entry

# No word border before "text": a paragraph with "pretext" goes too, and the pinned counts of the recipe rest on that.
_EDITOR = re.compile(r"gutenberg|e-?text\b|transcriber", re.IGNORECASE)
_MARK = re.compile(r"\[(?:Footnote|Illustration)[^\]]*\]|\[\d+\]")
_ITALICS = re.compile(r"_([^_]+)_")
_NOTE = re.compile(r"\[\d+\]|\[Footnote")
_NOTE_DIGITS = re.compile(r"(?<=[a-z,.;:!?\u2019\u201d])\d+")
_BROKEN = re.compile(r"(?<=\w-)\n\s*(?=\w)")
_OPENING_CHARS = 200
_OPENING_LOWER = 0.6


def chapters(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages in groups of neighbouring ones; `strip_note_digits` drops numbers that notes left on words."""
    for member in members:
        parts = _prose(paragraphs(decode_text(member.data)))
        if entry.options.get("strip_note_digits"):
            parts = (_NOTE_DIGITS.sub("", part) for part in parts)
        yield from blocks(entry, member.name, parts)


def _prose(parts: Iterable[str]) -> Iterator[str]:
    opened = False
    for part in parts:
        text = one_line(part)
        opened = opened or _is_opening(text)
        if opened and not _EDITOR.search(text) and not _NOTE.match(text):
            text = " ".join(_ITALICS.sub(r"\1", _MARK.sub("", text)).split())
            if any(sign.isalpha() for sign in text):
                yield text


def _is_opening(text: str) -> bool:
    return len(text) >= _OPENING_CHARS and sum(sign.islower() for sign in text) >= _OPENING_LOWER * len(text)


def one_line(part: str) -> str:
    """Return a paragraph as one line; a word that was broken at its hyphen keeps the hyphen, without a blank."""
    return " ".join(_BROKEN.sub("", part).split())

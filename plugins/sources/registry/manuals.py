"""Reads manuals: reStructuredText and plain text files, cut into passages."""

import re
from collections.abc import Iterable, Iterator

from andrea_core import decode_text, paragraphs
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, blocks, passages
from andrea_plugins.sources.registry.recipe import Entry

_META = re.compile(r"^\.\. meta::.*\n(?:(?:[ \t]+.*)?\n)*", re.MULTILINE)


def restructured(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages of each file, without its `.. meta::` blocks, otherwise as written."""
    for member in members:
        yield from passages(entry, member.path, paragraphs(_META.sub("", decode_text(member.data) + "\n")))


def plain(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages in groups of neighbouring ones."""
    for member in members:
        yield from blocks(entry, member.path, paragraphs(decode_text(member.data)))


def whole(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages, all passages of a member in one group."""
    for member in members:
        yield from passages(entry, member.path, paragraphs(decode_text(member.data)))

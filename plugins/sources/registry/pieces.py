"""What a format yields: a piece of text with the name of the group that must stay on one side of the split."""

from collections.abc import Callable, Iterable, Iterator

import attrs

from andrea_core import cut_passages
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.recipe import Entry


@attrs.frozen
class Piece:
    """A document before cleaning; `group` is relative to the archive."""

    group: str
    text: str


Format = Callable[[Entry, Iterable[Member]], Iterator[Piece]]


def passages(entry: Entry, group: str, parts: Iterable[str], joint: str = "\n\n", head: str = "") -> Iterator[Piece]:
    """Yield the passages of some paragraphs, all in one group, each under the line `head` if there is one.

    A passage is measured with a blank line between its paragraphs, whatever `joint` then stands there.
    """
    for passage in cut_passages(parts, entry.passage_chars):
        text = passage.replace("\n\n", joint)
        yield Piece(group, f"{head}\n{text}" if head else text)


def blocks(entry: Entry, name: str, parts: Iterable[str]) -> Iterator[Piece]:
    """Yield the passages of a long work in groups `name#0`, `name#1`, ... of `group_passages` passages each."""
    for number, passage in enumerate(cut_passages(parts, entry.passage_chars)):
        yield Piece(f"{name}#{number // entry.group_passages}", passage)

"""Reads a compressed list of words with their definitions, one word a line."""

import gzip
from collections.abc import Iterable, Iterator

from andrea_core import decode_text, normalise
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry


def definitions(_entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield `word: definition`, or `word: (1) ... (2) ...`; synonyms share a group, their first definition."""
    for member in members:
        for line in decode_text(gzip.decompress(member.data)).split("\n"):
            word, _, rest = line.partition("\t")
            meanings = list(dict.fromkeys(meaning.strip() for meaning in rest.split(" | ") if meaning.strip()))
            if len(meanings) == 1:
                yield Piece(normalise(meanings[0]), f"{word}: {meanings[0]}")
            elif meanings:
                numbered = " ".join(f"({number}) {meaning}" for number, meaning in enumerate(meanings, 1))
                yield Piece(normalise(meanings[0]), f"{word}: {numbered}")

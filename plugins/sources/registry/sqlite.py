"""Reads SQLite members in memory: questions with answers, and scripture verses."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Any

from andrea_core import hash64, unwrap
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, passages
from andrea_plugins.sources.registry.recipe import Entry

_VERSE_NUMBER = re.compile(r"\d+:\d+\s*")


def questions(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield `User:` / `Assistant:` documents from the rows of the entry's query; `columns` names them in order."""
    templates = entry.options["questions"]
    for row in _rows(entry, members):
        cells = dict(zip(entry.options["columns"], row, strict=True))
        cells["quote"] = cells["quote"].strip().strip('"').strip()
        template = templates[hash64(str(cells["id"])) % len(templates)]
        question = template.format(author=cells["author"], quote=cells["quote"])
        group = entry.options["group"].format(**cells)
        yield Piece(group, f"User: {question}\nAssistant: {unwrap(cells['answer'])}")


def verses(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages of one chapter under a line `Book chapter`; rows are (book, chapter, verse text)."""
    books = set(entry.options["books"])
    rows = (row for row in _rows(entry, members) if row[0] in books)
    for (book, chapter), verse_rows in groupby(rows, key=lambda row: (row[0], row[1])):
        title = f"{book} {chapter}"
        texts = [unwrap(_VERSE_NUMBER.sub("", row[2])) for row in verse_rows]
        yield from passages(entry, title, texts, " ", title)


def _rows(entry: Entry, members: Iterable[Member]) -> Iterator[tuple[Any, ...]]:
    for member in members:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(member.data)
            yield from connection.execute(entry.options["query"])

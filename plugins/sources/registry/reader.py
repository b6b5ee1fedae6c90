"""The `registry` source: reads the sources of a recipe from pinned archives, cleans them and cuts them to a cap."""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

from andrea_core import Document, number, preference
from andrea_plugins.sources.registry.archives import read_members
from andrea_plugins.sources.registry.cleaning import clean, duplicate_key
from andrea_plugins.sources.registry.download import fetch
from andrea_plugins.sources.registry.formats import FORMATS
from andrea_plugins.sources.registry.local import local_members, local_version
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.quota import choose, water_fill
from andrea_plugins.sources.registry.recipe import BUNDLED, Entry, Recipe, SourceRecipe, load_recipe

_VERSION = 1  # goes up when the same archives give other documents
_loaded = lru_cache(load_recipe)


@attrs.frozen
class Registry:
    """Text from pinned archives, as a recipe says.

    `entry` is the source's name in the recipe (by default the name it has in the scenario); `recipe` is `bundled` or
    the path of a file of the same form; `cap_bytes` cuts the source; `local_text` adds text of the running Python where
    the recipe has some; `archives` is a folder that holds the archives, for a machine without network.
    """

    entry: str | None = None
    recipe: str = "bundled"
    cap_bytes: int = number(default=1_000_000, above=0)
    local_text: bool = False
    archives: str | None = None

    def entries(self) -> tuple[str, ...]:
        """Return the names of the recipe's sources."""
        return tuple(self._recipe().sources)

    def fingerprint(self, name: str) -> str:
        """Return a digest of the recipe's entries, the pinned archives, the cap, and the Python whose text is read."""
        recipe, source = self._source(name)
        entries = self._entries(recipe, source)
        facts = [
            [attrs.asdict(entry), recipe.archives[entry.archive].sha256 if entry.archive else local_version(entry)]
            for entry in entries
        ]
        text = json.dumps([_VERSION, source.name, self.cap_bytes, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents of a source under its cap. Raises CorpusError."""
        recipe, source = self._source(name)
        entries = self._entries(recipe, source)
        archives = {entry.archive: recipe.archives[entry.archive] for entry in entries if entry.archive}
        paths = fetch(recipe, archives.values(), self.archives)
        found = _read(recipe, entries, paths)
        sizes = [sum(len(document.text.encode()) for document in documents) for documents in found]
        quotas = water_fill(self.cap_bytes, sizes, [entry.share for entry in entries])
        for documents, quota in zip(found, quotas, strict=True):
            yield from choose(source.name, documents, quota)

    def _source(self, name: str) -> tuple[Recipe, SourceRecipe]:
        recipe = self._recipe()
        return recipe, recipe.source(self.entry or name)

    def _recipe(self) -> Recipe:
        return _loaded(BUNDLED if self.recipe == "bundled" else Path(self.recipe).expanduser())

    def _entries(self, recipe: Recipe, source: SourceRecipe) -> list[Entry]:
        """The entries to read: without source archives their place is taken by the text of the running Python."""
        main = [entry for entry in source.entries if entry.role == "main"]
        local = [entry for entry in source.entries if entry.role == "local"]
        kept = [entry for entry in main if recipe.archives[entry.archive].kind == "wheel"] if _wheels_only() else main
        return kept + local if self.local_text or len(kept) < len(main) else kept


def _wheels_only() -> bool:
    return preference("wheels_only")


def _read(recipe: Recipe, entries: Sequence[Entry], paths: Any) -> list[list[Document]]:
    """The documents of each entry: cleaned, long enough, and each text once in the whole source."""
    seen: set[bytes] = set()
    return [list(_documents(recipe, entry, paths, seen)) for entry in entries]


def _documents(recipe: Recipe, entry: Entry, paths: Any, seen: set[bytes]) -> Iterator[Document]:
    origin = f"Python {sys.version_info[0]}.{sys.version_info[1]} {entry.runtime}"
    if entry.archive:
        origin = f"{recipe.archives[entry.archive].package} {recipe.archives[entry.archive].version}"
    for piece in _pieces(entry, paths):
        text = clean(piece.text)
        key = duplicate_key(text)
        if len(text) >= entry.min_doc_chars and key not in seen:
            seen.add(key)
            yield Document(text, f"{entry.place}/{piece.group}", entry.licence, origin)


def _pieces(entry: Entry, paths: Any) -> Iterator[Piece]:
    members = (
        read_members(paths[entry.archive], entry.members, entry.exclude) if entry.archive else local_members(entry)
    )
    return FORMATS[entry.format](entry, members)

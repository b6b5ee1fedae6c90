"""Layers of settings: a scenario, what it extends, its profile and overrides, merged, with each key's origin kept."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.spelling import nearest

Tree = dict[str, Any]


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


def read_layers(path: Path) -> Layers:
    """Read a TOML file and, beneath it, the files it `extends`; raises ScenarioError."""
    layers = Layers({}, {(): str(path)})
    for file, data in _chain(path, []):
        layers = layers.over(data, str(file))
    return layers


def read_toml(path: Path) -> Tree:
    """Read one TOML file; raises ScenarioError that names the line."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError as error:
        hint = nearest(path.name, [file.name for file in path.parent.glob("*.toml")]) if path.parent.is_dir() else ""
        raise ScenarioError(f"the scenario {path} does not exist{hint}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from error


def merge(below: Tree, above: Tree, origin: str, origins: dict[tuple[str, ...], str], at: tuple[str, ...] = ()) -> Tree:
    """Return `above` laid over `below`: tables merge key by key, everything else replaces.

    A table that names another component (`use`) replaces the one below with its settings. `false` takes an inherited
    table away.
    """
    merged = dict(below)
    for key, value in above.items():
        place = (*at, key)
        old = merged.get(key)
        if value is False and isinstance(old, dict):
            del merged[key]
            continue
        if isinstance(value, dict):
            base = old if isinstance(old, dict) and _same_component(old, value) else {}
            value = merge(base, value, origin, origins, place)
        merged[key] = value
        origins[place] = origin
    return merged


def overrides(settings: Sequence[str]) -> list[tuple[list[str], Any]]:
    """Return (path, value) of each `--set key=value`; the value is TOML, or a text as it stands.

    >>> overrides(["run.steps=500", "curriculum.stages[0].name=diet"])
    [(['run', 'steps'], 500), (['curriculum', 'stages', '0', 'name'], 'diet')]
    """
    parsed = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise ScenarioError(f"--set {setting}: write key=value, for example --set run.steps=500")
        parsed.append((key.strip().replace("[", ".").replace("]", "").split("."), _toml_value(value.strip())))
    return parsed


def apply_override(data: Tree, path: Sequence[str], value: Any) -> Tree:
    """Return settings with one value set; numbers in the path count list items from 0."""
    copy = _set(data, list(path), value, ".".join(path))
    if not isinstance(copy, dict):
        raise ScenarioError(f"--set {'.'.join(path)}: there is no such place")
    return copy


def _set(node: Any, path: list[str], value: Any, whole: str) -> Any:
    if not path:
        return value
    key = path[0]
    if isinstance(node, list):
        if not key.isdigit() or int(key) >= len(node):
            raise ScenarioError(f"--set {whole}: the list has items 0 to {len(node) - 1}, not {key!r}")
        return [_set(item, path[1:], value, whole) if i == int(key) else item for i, item in enumerate(node)]
    if node is not None and not isinstance(node, dict):
        raise ScenarioError(f"--set {whole}: {key!r} cannot be set inside the value {node!r}")
    table = dict(node or {})
    if key == "use" and table.get("use") != value:
        table = {}
    table[key] = _set(table.get(key), path[1:], value, whole)
    return table


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _same_component(below: Tree, above: Tree) -> bool:
    return "use" not in above or below.get("use") == above["use"]


def _chain(path: Path, above: list[Path]) -> list[tuple[Path, Tree]]:
    if path.resolve() in above:
        circle = " -> ".join(str(file) for file in [*above, path])
        raise ScenarioError(f"{path} extends itself: {circle}")
    data = read_toml(path)
    parent = data.pop("extends", None)
    if parent is None:
        return [(path, data)]
    if not isinstance(parent, str):
        raise ScenarioError(f"{path}: extends must be the name of one file, got {parent!r}")
    return [*_chain(path.parent / parent, [*above, path.resolve()]), (path, data)]

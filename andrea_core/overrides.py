"""Overrides of the command line: `--set key=value` parsed as TOML parses keys, and laid into a tree of settings."""

import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.layers import PLAIN, Layers, Tree, refuse_depth
from andrea_core.spelling import dotted, first_words, shown

Place = tuple[str | int, ...]
_PART = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')|\[\s*(?P<index>[0-9]{1,9})\s*\]|(?P<bare>[^\s.\[\]="'][^.\[\]="']*))\s*"""
)


@attrs.frozen
class Override:
    """One value to set, where, and the option that asks for it; a number in the place counts list items from 0."""

    place: Place
    value: Any
    origin: str = "--set"

    @property
    def path(self) -> tuple[str, ...]:
        """The place as texts."""
        return tuple(map(str, self.place))


def overrides(settings: Sequence[str]) -> list[Override]:
    """Return what each `--set key=value` asks for; the value is TOML, or a text as it stands. Raises ScenarioError.

    >>> [(one.place, one.value) for one in overrides(["run.steps=500", 'stages[0]."a.b"=diet'])]
    [(('run', 'steps'), 500), (('stages', 0, 'a.b'), 'diet')]
    """
    return [_parsed(setting) for setting in settings]


def apply_override(data: Tree, override: Override) -> Tree:
    """Return settings with one value set. Raises ScenarioError that names the option and the place."""
    changed: Tree = _set(data, list(override.place), override)
    return changed


def with_overrides(layers: Layers, asked: Sequence[Override]) -> Callable[[Sequence[str]], str]:
    """Return who is to be named for a place: the option that set it, the file, or the file with the option."""

    def origin(path: Sequence[str]) -> str:
        plain = tuple(part.strip("[]") for part in path)
        for override in asked:
            if plain[: len(override.path)] == override.path:
                return override.origin
        near = [one for one in asked if plain and _meets(one.path, plain)]
        if not near:
            return layers.origin(path)
        table = plain if near[0].path[: len(plain)] == plain else plain[:-1]
        if table not in layers.origins:
            return near[0].origin
        return f"{layers.origin(path)} with {', '.join(f'{one.origin} {dotted(one.place)}' for one in near)}"

    return origin


def _meets(override: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Return whether an override sets something below a place, or beside it in the same table."""
    return override[: len(path)] == path or (len(path) > 1 and override[:-1] == path[:-1])


def _parsed(setting: str) -> Override:
    place, rest = [], setting
    separated = True
    while (match := _PART.match(rest)) and (separated or match["index"]):
        place.append(_part(match, setting))
        rest = rest[match.end() :]
        separated = rest.startswith(".")
        rest = rest.removeprefix(".")
    if not place or separated or not rest.startswith("="):
        raise ScenarioError(
            f"--set {_asked(setting)}: write key=value, for example --set run.steps=500; a key with dots in its name "
            'stands in quotes: sources."a.b".use="text"'
        )
    value = _toml_value(rest[1:].strip(), setting)
    refuse_depth({"place": place, "value": value}, f"--set {_asked(setting)}")
    if len(place) > 32:
        raise ScenarioError(f"--set {_asked(setting)}: the key has {len(place)} parts; no key is that deep")
    return Override(tuple(place), value)


def _part(match: "re.Match[str]", setting: str) -> str | int:
    if match["index"]:
        return int(match["index"])
    if match["bare"]:
        bare = match["bare"].strip()
        return int(bare) if re.fullmatch("0|[1-9][0-9]{0,8}", bare) else bare
    try:
        return next(iter(tomllib.loads(f"{match['quoted']} = 0")))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"--set {_asked(setting)}: the key {match['quoted']} is not valid TOML: {error}") from error


def _toml_value(text: str, setting: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise ScenarioError(
            f"--set {_asked(setting)}: the value cannot be read: {first_words(error)}; write a smaller one"
        ) from None
    return table["value"] if table.keys() == {"value"} else text


def _set(node: Any, place: list[str | int], override: Override) -> Any:
    if not place:
        return override.value
    where, key, rest = f"{override.origin} {dotted(override.place)}", place[0], place[1:]
    if isinstance(node, list):
        if not isinstance(key, int) or key >= len(node):
            items = f"the list has items 0 to {len(node) - 1}, not" if node else "the list is empty and has no item"
            raise ScenarioError(f"{where}: {items} {shown(key)}")
        return [_set(item, rest, override) if i == key else item for i, item in enumerate(node)]
    if node is None and isinstance(key, int):
        done = dotted(override.place[: len(override.place) - len(place)])
        raise ScenarioError(
            f"{where}: there is no list {done!r} with an item {key}; set the whole list, for example "
            f"--set '{done}=[...]' (the name {str(key)!r} of a table stands in quotes)"
        )
    if node is not None and not isinstance(node, dict):
        raise ScenarioError(f"{where}: {str(key)!r} cannot be set inside the value {shown(node)}")
    table = dict(node or {})
    name = str(key)
    if name == "use" and table.get("use") != override.value and tuple(override.place[:-1]) not in PLAIN:
        table = {}
    table[name] = _set(table.get(name), rest, override)
    return table


def _asked(setting: str) -> str:
    return setting if setting.isprintable() and len(setting) <= 120 else shown(setting)

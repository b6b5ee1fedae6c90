"""Truths as TOML: settings relative to a run's length, read, checked and fitted to a scenario's sources."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.layers import Tree, read_toml
from andrea_core.simulator.presets import PRESETS, preset
from andrea_core.simulator.truth import Change, Truth, checked
from andrea_core.simulator.truth_numbers import Numbers, retention, square
from andrea_core.spelling import nearest, shown
from andrea_core.values import Mask, Vector

KEYS = (
    "name", "sources", "floor", "start", "exponent", "offset", "noise", "size", "unit", "half_life", "target",
    "pure_noise", "transfer", "changes",
)  # fmt: skip
MOST = 2.0**62
"""Tokens of a source beyond which they are not counted exactly any more."""
NEEDED = ("start", "floor", "exponent", "size")
DEFAULTS = {"offset": 1.0, "noise": 0.0, "unit": 0.001}
"""What holds where a file is silent; besides, each source teaches itself alone, and nothing is forgotten."""


@attrs.frozen
class Extent:
    """What a truth is fitted to: the scenario's source names, and the run's steps and tokens a step."""

    names: tuple[str, ...]
    steps: int
    tokens_per_step: int


def truth_of(asked: str, extent: Extent) -> Truth:
    """Return the truth of a preset's name or of a TOML file, fitted to a run.

    Raises ScenarioError for an unknown preset, a file that does not parse, an unknown or missing key, an array of the
    wrong shape, or sources that are not the scenario's.
    """
    if asked in PRESETS:
        return fitted(preset(asked, extent.names), extent, asked)
    if not asked.endswith(".toml") or Path(asked).is_dir():
        what = "is a folder" if Path(asked).is_dir() else "is neither"
        raise ScenarioError(f"--truth: a preset's name or a TOML file; {asked!r} {what}{nearest(asked, PRESETS)}")
    return fitted(read_toml(Path(asked)), extent, asked)


def fitted(data: Tree, extent: Extent, where: str) -> Truth:
    """Return the truth of plain settings, for a run; raises ScenarioError that names the place."""
    for key in data:
        if key not in KEYS:
            raise ScenarioError(f"the truth {where}: there is no key {key!r}{nearest(key, KEYS)}")
    missing = [key for key in NEEDED if key not in data]
    if missing:
        raise ScenarioError(f"the truth {where}: missing {', '.join(missing)}; needed are {', '.join(NEEDED)}")
    order = _order(data, extent, where)
    count = len(extent.names)
    numbers = Numbers(where, tuple(extent.names[i] for i in np.argsort(order)))

    def vector(key: str) -> Vector:
        return np.asarray(numbers.vector(data.get(key, DEFAULTS.get(key)), key)[order])

    def matrix(value: Any, place: str) -> Vector:
        return np.asarray(numbers.matrix(value, place)[np.ix_(order, order)])

    floor, exponent, offset, start = vector("floor"), vector("exponent"), vector("offset"), vector("start")
    if (start < floor).any():
        raise ScenarioError(f"the truth {where}: start must not be below floor, the loss cannot rise by training")
    total = extent.steps * extent.tokens_per_step
    tokens = np.maximum(vector("size") * total, 1.0)
    if (tokens >= MOST).any():
        raise ScenarioError(f"the truth {where}: size asks for more than 2**62 tokens; give a part of the run's")
    truth = Truth(
        name=str(data.get("name", where)),
        floor=floor,
        scale=(start - floor) * offset**exponent,
        exponent=exponent,
        offset=offset,
        transfer=matrix(data.get("transfer", np.eye(count).tolist()), "transfer"),
        noise=vector("noise"),
        tokens=tokens.astype(np.int64),
        unit=numbers.number(data.get("unit", DEFAULTS["unit"]), "unit") * total,
        target=_marked(data.get("target"), extent, where, "target", everything=True),
        pure_noise=_marked(data.get("pure_noise"), extent, where, "pure_noise", everything=False),
        retention=retention(numbers.number(data["half_life"], "half_life"), extent.steps, where)
        if "half_life" in data
        else 1.0,
        changes=_changes(data, extent, numbers, matrix),
    )
    return checked(truth)


def _order(data: Tree, extent: Extent, where: str) -> Any:
    """Return where each of the scenario's sources stands in the file; as they come when the file names none."""
    rows = square(data.get("transfer"))
    if rows is not None and rows != len(extent.names):
        raise ScenarioError(
            f"the truth {where} is of {rows} sources, the scenario has {len(extent.names)}; "
            "take another truth, or a preset that fits any number"
        )
    named = data.get("sources")
    if named is None:
        return np.arange(len(extent.names))
    listed = [str(name) for name in (named if isinstance(named, list) else [named])]
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        raise ScenarioError(f"the truth {where}: its sources name {twice[0]!r} more than once")
    odd = sorted(set(extent.names) ^ set(listed))
    if odd:
        raise ScenarioError(f"the truth {where}: its sources are not the scenario's: {', '.join(odd)} on one side only")
    return np.array([listed.index(name) for name in extent.names])


def _marked(value: Any, extent: Extent, where: str, key: str, *, everything: bool) -> Mask:
    if value is None:
        return np.full(len(extent.names), everything)
    named = value if isinstance(value, list) else [value]
    unknown = [name for name in named if name not in extent.names]
    if unknown:
        raise ScenarioError(f"the truth {where}: {key}: there is no source {unknown[0]!r} in the scenario")
    return np.array([name in named for name in extent.names])


def _changes(data: Tree, extent: Extent, numbers: Numbers, matrix: Callable[[Any, str], Vector]) -> tuple[Change, ...]:
    listed: Any = data.get("changes", [])
    if not isinstance(listed, list):
        raise ScenarioError(f"the truth {numbers.where}: changes must be a list of tables, got {shown(listed)}")
    changes = []
    for index, one in enumerate(listed):
        place = f"the truth {numbers.where}: changes[{index}]"
        if not isinstance(one, dict) or set(one) != {"at", "transfer"}:
            raise ScenarioError(f"{place} must have the keys at and transfer, got {shown(one)}")
        at = numbers.number(one["at"], f"changes[{index}].at")
        if not 0 < at < 1:
            raise ScenarioError(f"{place}.at must lie between 0 and 1 (parts of the run), got {at}")
        changes.append(Change(round(at * extent.steps), matrix(one["transfer"], f"changes[{index}].transfer")))
    return tuple(sorted(changes, key=lambda change: change.step))

"""Truths as TOML: settings relative to a run's length, read, checked and fitted to a scenario's sources."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.layers import Tree, read_toml
from andrea_core.simulator.presets import PRESETS, preset
from andrea_core.simulator.truth import Change, Truth, checked
from andrea_core.spelling import nearest, shown
from andrea_core.values import Mask, Vector

KEYS = (
    "name", "sources", "floor", "start", "exponent", "offset", "noise", "size", "unit", "half_life", "target",
    "pure_noise", "transfer", "changes",
)  # fmt: skip
MOST = 2.0**62
"""Tokens of a source beyond which they are not counted exactly any more."""
NEEDED = ("floor", "start", "exponent", "noise", "size", "transfer")


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
    if not asked.endswith(".toml"):
        known = ", ".join(PRESETS)
        raise ScenarioError(f"no truth is called {asked!r}{nearest(asked, PRESETS)}; presets: {known}; or a .toml file")
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

    def vector(key: str, default: float | None = None) -> Vector:
        found = np.asarray(_array(data.get(key, default), (count,), f"the truth {where}: {key}")[order])
        _refuse_odd(found, extent.names, f"the truth {where}: {key}", zero=key in ("floor", "start", "noise"))
        return found

    def matrix(value: Any, place: str) -> Vector:
        return np.asarray(_array(value, (count, count), f"the truth {where}: {place}")[np.ix_(order, order)])

    floor, exponent, offset = vector("floor"), vector("exponent"), vector("offset", 1.0)
    start, transfer = vector("start"), matrix(data["transfer"], "transfer")
    if (start < floor).any():
        raise ScenarioError(f"the truth {where}: start must not be below floor, the loss cannot rise by training")
    with np.errstate(over="ignore"):
        scale = (start - floor) * offset**exponent
    _refuse_odd(scale, extent.names, f"the truth {where}: start, offset and exponent (together)", zero=True)
    total = extent.steps * extent.tokens_per_step
    tokens = np.maximum(vector("size") * total, 1.0)
    if (tokens >= MOST).any():
        raise ScenarioError(f"the truth {where}: size asks for more than 2**62 tokens; give a part of the run's")
    unit = _number(data.get("unit", 0.001), f"the truth {where}: unit")
    if not 0 < unit * total < math.inf:
        raise ScenarioError(f"the truth {where}: unit must be greater than 0 and finite, got {unit}")
    truth = Truth(
        name=str(data.get("name", where)),
        floor=floor,
        scale=scale,
        exponent=exponent,
        offset=offset,
        transfer=transfer,
        noise=vector("noise"),
        tokens=tokens.astype(np.int64),
        unit=unit * total,
        target=_marked(data.get("target"), extent, where, "target", everything=True),
        pure_noise=_marked(data.get("pure_noise"), extent, where, "pure_noise", everything=False),
        retention=_retention(data, extent, where),
        changes=_changes(data, extent, where, matrix),
    )
    return checked(truth)


def _refuse_odd(found: Vector, names: Sequence[str], place: str, *, zero: bool) -> None:
    """Raise ScenarioError, with the source, for a number that is not finite or too small."""
    odd = np.flatnonzero(~(np.isfinite(found) & ((found >= 0) if zero else (found > 0))))
    if len(odd):
        least = "not negative" if zero else "greater than 0"
        raise ScenarioError(f"{place} must be finite and {least}, got {found[odd[0]]} for source {names[odd[0]]!r}")


def _order(data: Tree, extent: Extent, where: str) -> Any:
    """Return where each of the scenario's sources stands in the file; as they come when the file names none."""
    count = len(np.atleast_1d(np.asarray(data["transfer"], dtype=object)))
    if count != len(extent.names):
        raise ScenarioError(
            f"the truth {where} is of {count} sources, the scenario has {len(extent.names)}; "
            "take another truth, or a preset that fits any number"
        )
    named = data.get("sources")
    if named is None:
        return np.arange(count)
    if not isinstance(named, list) or sorted(map(str, named)) != sorted(extent.names):
        odd = sorted(set(extent.names) ^ set(map(str, named if isinstance(named, list) else [named])))
        raise ScenarioError(f"the truth {where}: its sources are not the scenario's: {', '.join(odd)} on one side only")
    listed = [str(name) for name in named]
    return np.array([listed.index(name) for name in extent.names])


def _array(value: Any, shape: tuple[int, ...], place: str) -> Vector:
    """Return numbers of a shape; one number stands for all of a vector."""
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ScenarioError(f"{place} must be {_words(shape)}, got {shown(value)}") from None
    if found.ndim == 0 and len(shape) == 1:
        found = np.full(shape, found)
    if found.shape != shape:
        raise ScenarioError(f"{place} must be {_words(shape)}; it has the shape {found.shape}")
    return found


def _words(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} numbers" if len(shape) == 1 else f"{shape[0]} rows of {shape[1]} numbers"


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{place} must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ScenarioError(f"{place} is larger than any floating-point number") from None


def _marked(value: Any, extent: Extent, where: str, key: str, *, everything: bool) -> Mask:
    if value is None:
        return np.full(len(extent.names), everything)
    named = value if isinstance(value, list) else [value]
    unknown = [name for name in named if name not in extent.names]
    if unknown:
        raise ScenarioError(f"the truth {where}: {key}: there is no source {unknown[0]!r} in the scenario")
    return np.array([name in named for name in extent.names])


def _retention(data: Tree, extent: Extent, where: str) -> float:
    if "half_life" not in data:
        return 1.0
    half_life = _number(data["half_life"], f"the truth {where}: half_life")
    if half_life <= 0:
        raise ScenarioError(f"the truth {where}: half_life must be greater than 0 (a part of the run), got {half_life}")
    retention = float(0.5 ** min(1.0 / max(half_life * extent.steps, 1e-300), 1e300)) if half_life < math.inf else 1.0
    if not 0 < retention <= 1:
        raise ScenarioError(f"the truth {where}: half_life {half_life} forgets everything within one step; raise it")
    return retention


def _changes(data: Tree, extent: Extent, where: str, matrix: Callable[[Any, str], Vector]) -> tuple[Change, ...]:
    listed: Any = data.get("changes", [])
    if not isinstance(listed, list):
        raise ScenarioError(f"the truth {where}: changes must be a list of tables, got {shown(listed)}")
    changes = []
    for index, one in enumerate(listed):
        place = f"changes[{index}]"
        if not isinstance(one, dict) or set(one) != {"at", "transfer"}:
            raise ScenarioError(f"the truth {where}: {place} must have the keys at and transfer, got {shown(one)}")
        at = _number(one["at"], f"the truth {where}: {place}.at")
        if not 0 < at < 1:
            raise ScenarioError(f"the truth {where}: {place}.at must lie between 0 and 1 (parts of the run), got {at}")
        changes.append(Change(round(at * extent.steps), matrix(one["transfer"], f"{place}.transfer")))
    return tuple(sorted(changes, key=lambda change: change.step))

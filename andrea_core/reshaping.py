"""Rewrites a tree of settings: step spans scaled, paths and file patterns made absolute."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.fields import LONGEST_SPAN, PATHS, SPAN
from andrea_core.spelling import shown


def is_scale(scale: Any) -> bool:
    """Return whether a value can multiply step spans: a finite number above 0."""
    return isinstance(scale, int | float) and not isinstance(scale, bool) and 0 < scale < float("inf")


def scaled(settings: Any, scale: float) -> Any:
    """Return settings with every step span multiplied: half to even, at least 1; cadences and counts stay.

    Raises ScenarioError when the scaled settings no longer fit together, for example borders that coincide, or when a
    span becomes longer than any run can be.
    """
    if not is_scale(scale):
        raise ScenarioError(f"scale must be a finite number above 0, got {shown(scale)}")

    def longer(steps: int) -> int:
        product = steps * scale
        if product > LONGEST_SPAN:
            raise ScenarioError(
                f"at scale {shown(scale)}: {steps} steps become more than 2**53; choose a smaller scale"
            )
        return max(1, round(product))

    try:
        return _rewritten(settings, SPAN, lambda steps: longer(steps) if steps else steps)
    except ValueError as error:
        raise ScenarioError(f"at scale {shown(scale)}: {error}; choose a larger scale") from error


def absolute(settings: Any, folder: Path) -> Any:
    """Return settings whose paths and file patterns start at a folder, so that a run can be resumed from anywhere.

    Raises ScenarioError for a pattern under the home folder of a user who has none.
    """

    def rooted(patterns: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if patterns is None or isinstance(patterns, str):
            return patterns and str(folder / expanded(patterns))
        return tuple(str(folder / expanded(pattern)) for pattern in patterns)

    return _rewritten(settings, PATHS, rooted)


def expanded(name: str) -> Path:
    """Return a path with `~` and `~user` replaced by a home folder. Raises ScenarioError when there is none."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise ScenarioError(f"the home folder in {name!r} is not known; write the whole path") from error


def _rewritten(value: Any, mark: str, change: Callable[[Any], Any]) -> Any:
    """Return a tree of settings with `change` applied to every field whose metadata holds the mark."""
    if isinstance(value, tuple):
        return tuple(_rewritten(item, mark, change) for item in value)
    if isinstance(value, Mapping):
        return {key: _rewritten(item, mark, change) for key, item in value.items()}
    if not attrs.has(type(value)):
        return value
    changed = {}
    for field in attrs.fields(type(value)):
        held = getattr(value, field.name)
        changed[field.alias] = change(held) if field.metadata.get(mark) else _rewritten(held, mark, change)
    return type(value)(**changed)

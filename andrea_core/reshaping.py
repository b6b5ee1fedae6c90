"""Rewrites a tree of settings: step spans scaled, file patterns made absolute."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.fields import PATHS, SPAN


def scaled(settings: Any, scale: float) -> Any:
    """Return settings with every step span multiplied: half to even, at least 1; cadences and counts stay.

    Raises ScenarioError when the scaled settings no longer fit together, for example borders that coincide.
    """
    if not 0 < scale < float("inf"):
        raise ScenarioError(f"scale must be a number above 0, got {scale!r}")
    try:
        return _rewritten(settings, SPAN, lambda steps: max(1, round(steps * scale)) if steps else steps)
    except ValueError as error:
        raise ScenarioError(f"at scale {scale}: {error}; choose a larger scale") from error


def absolute(settings: Any, folder: Path) -> Any:
    """Return settings whose file patterns start at a folder, so that a run can be resumed from anywhere."""

    def rooted(patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(folder / Path(pattern).expanduser()) for pattern in patterns)

    return _rewritten(settings, PATHS, rooted)


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

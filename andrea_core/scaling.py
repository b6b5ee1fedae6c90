"""Scale: the same experiment, longer or shorter, by multiplying every step span in a tree of settings."""

from collections.abc import Mapping
from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.fields import SPAN


def scaled(value: Any, scale: float) -> Any:
    """Return settings with every step span multiplied: half to even, at least 1; cadences and counts stay.

    Raises ScenarioError when the scaled settings no longer fit together, for example borders that coincide.
    """
    if not scale > 0 or scale == float("inf"):
        raise ScenarioError(f"scale must be a number above 0, got {scale!r}")
    if isinstance(value, tuple):
        return tuple(scaled(item, scale) for item in value)
    if isinstance(value, Mapping):
        return {key: scaled(item, scale) for key, item in value.items()}
    if not attrs.has(type(value)):
        return value
    changed = {}
    for field in attrs.fields(type(value)):
        held = getattr(value, field.name)
        if field.metadata.get(SPAN):
            changed[field.alias] = held if not held else max(1, round(held * scale))
        else:
            changed[field.alias] = scaled(held, scale)
    try:
        return type(value)(**changed)
    except ValueError as error:
        raise ScenarioError(f"at scale {scale}: {error}; choose a larger scale") from error

"""A finished phase as named numbers, the form that every tracker takes."""

import math
from collections.abc import Iterator, Mapping
from typing import Any


def scalars(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the finite numbers of a phase as `name` or `table/source`; texts, NaN and infinities are left out."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from scalars(value, f"{prefix}{key}/")
        elif isinstance(value, int | float) and math.isfinite(value):
            yield f"{prefix}{key}", float(value)


def end_of(record: Mapping[str, Any]) -> int:
    """Return the step that a phase ended at, under which trackers file it."""
    return int(record["start"]) + int(record["steps"])

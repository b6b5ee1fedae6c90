"""What a probe returned, checked before the record keeps it: names, numbers, shapes."""

from typing import Any

import attrs
import numpy as np

from andrea_core.guard import Blame, names_of_record, numbers
from andrea_core.values import Measurement

MOST_NUMBERS = 2**16
"""Numbers of one measurement: checkpoints hold up to 512 rows of each array, so they must stay small."""


def checked(found: Any, count: int, blame: Blame) -> dict[str, Measurement]:
    """Return a probe's measurements with numbers as float64, or raise PluginError for what the record cannot keep."""
    names_of_record(found, "measurements", blame)
    if "step" in found:
        raise blame.fault("named a measurement 'step', which is the record's own column; give it another name")
    checked = {}
    for name, one in found.items():
        if not isinstance(one, Measurement) or (name == "stop" and not isinstance(one.value, str)):
            raise blame.fault(f"returned {one!r} as measurement {name!r}")
        if not isinstance(one.status, str) or not one.status.isprintable() or not one.status:
            raise blame.fault(f"gave measurement {name!r} the status {one.status!r}; it is a word, such as ok")
        value = one.value
        if isinstance(value, str):
            value = value.encode("utf-8", "replace").decode()
        else:
            value = numbers(value, _shape(name, one, count, blame), f"measurement {name!r}", blame)
        checked[name] = attrs.evolve(one, value=value)
    return checked


def _shape(name: str, one: Measurement, count: int, blame: Blame) -> tuple[int, ...]:
    """Return the shape that a measurement must have: its own where it names its axes, else one entry a source."""
    if not one.axes:
        return (count,) if np.ndim(one.value) else ()
    shape = np.shape(one.value)
    if not all(isinstance(axis, str) and axis.isidentifier() for axis in one.axes) or len(set(one.axes)) < len(
        one.axes
    ):
        raise blame.fault(f"returned measurement {name!r} with the axes {one.axes!r}; they are different words")
    if len(shape) != len(one.axes) or not 0 < np.size(one.value) <= MOST_NUMBERS:
        raise blame.fault(
            f"returned measurement {name!r} of shape {shape} with the axes {', '.join(map(str, one.axes))}; "
            f"an array has an axis for each, and 1 to {MOST_NUMBERS:,} numbers"
        )
    return shape

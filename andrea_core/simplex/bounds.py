"""Stated bounds of the sources, each with the reason it was stated for."""

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

import attrs
import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.simplex.box import frozen
from andrea_core.simplex.groups.stated import SUM, Group, StatedGroup, joined, state
from andrea_core.simplex.polytope.rows import Row, StatedRow, state_row
from andrea_core.values import Vector

_EXAMPLES = {"Group": 'Group(("a", "b"), 0.2, 0.6)', "Row": 'Row({"a": 1, "b": -2}, at_most=0)'}
Kind = TypeVar("Kind")


@attrs.frozen
class Bound:
    """One stated bound of one source: `kind` is "floor", "cap" or "exclusion", `reason` says who stated it.

    Of several sources, joined by plus signs in `source`: "group floor", "group cap", "row floor" or "row cap".
    """

    source: str
    kind: str
    value: float
    reason: str

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason and self.reason != self.kind else ""
        what = "exclusion" if self.kind == "exclusion" else f"{self.kind} {self.value:.12g}"
        return f"{what} of {self.source}{why}"


@attrs.frozen(eq=False)
class Bounds:
    """Stated bounds (K,) of the sources `names`; reasons go by source index, absent for the simplex's own 0 and 1."""

    names: tuple[str, ...]
    lower: Vector
    upper: Vector
    lower_reasons: Mapping[int, str] = attrs.field(factory=dict)
    upper_reasons: Mapping[int, str] = attrs.field(factory=dict)
    groups: tuple[StatedGroup, ...] = ()
    rows: tuple[StatedRow, ...] = ()

    @property
    def disjoint(self) -> bool:
        """Whether no source is in two groups."""
        members = [member for group in self.groups for member in group.members]
        return len(set(members)) == len(members)

    @classmethod
    def free(cls, names: Iterable[str]) -> "Bounds":
        """Return the bounds of the whole simplex; raises ScenarioError without sources or for a repeated name."""
        names = tuple(names)
        if not names:
            raise ScenarioError("a region needs at least one source; name some in [sources]")
        odd = [name for name in names if not isinstance(name, str) or not name]
        if odd:
            raise ScenarioError(f"a source's name must be a text that is not empty, got {odd[0]!r}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ScenarioError(f"source {twice!r} is named twice; source names must differ")
        return cls(names, frozen(np.zeros(len(names))), frozen(np.ones(len(names))))

    def restrict(
        self, floors: Mapping[str, float], caps: Mapping[str, float], exclude: Iterable[str], reason: str
    ) -> "Bounds":
        """Return the intersection with further bounds; of two bounds of one kind the tighter keeps its reason."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        lower_reasons, upper_reasons = dict(self.lower_reasons), dict(self.upper_reasons)
        index = {name: i for i, name in enumerate(self.names)}
        exclude = (exclude,) if isinstance(exclude, str) else tuple(exclude)
        for name, value in floors.items():
            i, number = _find(name, index, "floor"), _checked(name, value, "floor")
            if number > lower[i]:
                lower[i], lower_reasons[i] = number, reason or "floor"
        tops = [(name, value, "cap") for name, value in caps.items()] + [(name, 0.0, "exclusion") for name in exclude]
        for name, value, kind in tops:
            i, number = _find(name, index, kind), _checked(name, value, kind)
            if number < upper[i]:
                upper[i], upper_reasons[i] = number, reason or kind
        return Bounds(self.names, frozen(lower), frozen(upper), lower_reasons, upper_reasons, self.groups, self.rows)

    def combine(self, groups: Iterable[Group], rows: Iterable[Row], reason: str) -> "Bounds":
        """Return the intersection with bounds on several sources at once; groups may overlap only beside rows."""
        groups, rows = _all(groups, Group, "groups"), _all(rows, Row, "rows")
        if not groups and not rows:
            return self
        index = {name: i for i, name in enumerate(self.names)}
        stated = [
            state(
                group,
                reason,
                lambda name: _find(name, index, "group bound"),
                lambda label, x: _checked(label, x, "group bound"),
            )
            for group in groups
        ]
        added = tuple(state_row(row, reason, lambda name: _find(name, index, "row")) for row in rows)
        rows_ = self.rows + tuple(row for row in added if row not in self.rows)
        return attrs.evolve(self, groups=joined(self.groups, stated, self.names, disjoint=not rows_), rows=rows_)

    def floor(self, i: int) -> Bound:
        """Return the stated lower bound of a source."""
        return Bound(self.names[i], "floor", float(self.lower[i]), self.lower_reasons.get(i, ""))

    def cap(self, i: int) -> Bound:
        """Return the stated upper bound of a source; a cap at 0 is an exclusion."""
        kind = "cap" if self.upper[i] > 0 else "exclusion"
        return Bound(self.names[i], kind, float(self.upper[i]), self.upper_reasons.get(i, ""))

    def group_floor(self, group: StatedGroup) -> Bound:
        """Return the stated lower bound of a group."""
        return Bound(self.label(group.members), "group floor", group.at_least, group.least_reason)

    def group_cap(self, group: StatedGroup) -> Bound:
        """Return the stated upper bound of a group."""
        return Bound(self.label(group.members), "group cap", group.at_most, group.most_reason)

    def label(self, members: Iterable[int]) -> str:
        """Return the names of several sources as one text."""
        return SUM.join(self.names[i] for i in members)


def _all(given: Iterable[Kind], kind: type[Kind], what: str) -> tuple[Kind, ...]:
    found = tuple(given)
    for one in found:
        if not isinstance(one, kind):
            raise ScenarioError(f"{what} takes {kind.__name__} values, such as {_EXAMPLES[kind.__name__]}; got {one!r}")
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known spelling, or the list of what is known."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known are {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}"


def _find(name: str, index: Mapping[str, int], kind: str) -> int:
    if name not in index:
        raise ScenarioError(f"{kind} of an unknown source {name!r}; {nearest(name, index)}")
    return index[name]


def _checked(name: str, value: float, kind: str) -> float:
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise ScenarioError(f"the {kind} of {name} must be a number between 0 and 1, got {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"the {kind} of {name} must be a number between 0 and 1, got {value!r}") from None
    if not math.isfinite(number) or not 0 <= number <= 1:
        raise ScenarioError(f"the {kind} of {name} must be between 0 and 1, got {value!r}")
    return number + 0.0

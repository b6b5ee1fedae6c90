"""Linear: bounds on any linear combination of weights, such as one source at no more than twice another."""

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from andrea_core import Context, Region, Row, check_sources, number, numbers_by_source

_OPEN = float("inf")


@attrs.frozen
class LinearBound:
    """One bound: coefficients by source, and the least and the most that their sum with the weights may be."""

    coefficients: Mapping[str, float] = numbers_by_source()
    at_least: float | None = number(default=None)
    at_most: float | None = number(default=None)

    def __attrs_post_init__(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a row needs at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least!r} is more than at_most {self.at_most!r}")

    def row(self) -> Row:
        """Return the bound as the region takes it."""
        low, high = self.at_least, self.at_most
        return Row(self.coefficients, -_OPEN if low is None else low, _OPEN if high is None else high)


def _some(_instance: Any, attribute: "attrs.Attribute[Any]", rows: tuple[LinearBound, ...]) -> None:
    if not rows:
        raise ValueError(f"{attribute.name} needs at least one row")


@attrs.frozen
class Linear:
    """Keep linear combinations of weights between bounds; overlapping groups are rows with coefficients of 1.

    Source: none published; ANDREA's own runs bound single sources. Rows are met to 1e-9, not bitwise; floors, caps and
    exclusions still are. Each phase costs some linear programs (about 10 ms for 16 sources), and where rows leave less
    than a thousandth of what the other bounds leave, uniform draws are by a random walk and approximate. Unseen
    sources count like any other.
    """

    rows: tuple[LinearBound, ...] = attrs.field(validator=_some)
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the region's part within the rows; raises ScenarioError for a name that is no source."""
        for bound in self.rows:
            check_sources(bound.coefficients, context.sources, f"linear of stage {context.stage!r}")
        return region.restrict(rows=tuple(bound.row() for bound in self.rows), reason=f"stage {context.stage!r}")

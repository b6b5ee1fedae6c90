"""Field helpers for settings classes: bounded numbers, fractions, step spans, each checked with a clear message."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from andrea_core.spelling import shown

SPAN = "andrea.span"
SOURCES = "andrea.sources"
PATHS = "andrea.paths"
LONGEST_SPAN = 2**53
"""The largest number of steps: beyond it floating-point numbers no longer tell steps apart."""
_Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def number(
    *,
    default: Any = attrs.NOTHING,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Return an attrs field whose value must be a finite number inside the given bounds.

    Raises ValueError, naming bound and value, when the settings class is built with a number outside of them.
    """
    return attrs.field(default=default, validator=_bounds(above, at_least, at_most, below), metadata=metadata or {})


def positive(*, default: Any = attrs.NOTHING, at_most: float | None = None) -> Any:
    """Return a field for a number > 0, optionally with an upper bound."""
    return number(default=default, above=0, at_most=at_most)


def fraction(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for a number in [0, 1]."""
    return number(default=default, at_least=0, at_most=1)


def span(*, default: Any = attrs.NOTHING, at_least: float | None = None) -> Any:
    """Return a field for a number of steps, at most 2**53, that a scenario's `scale` multiplies (no cadence)."""
    return number(default=default, at_least=at_least, at_most=LONGEST_SPAN, metadata={SPAN: True})


def one_of(*names: str, default: Any = attrs.NOTHING) -> Any:
    """Return a field for one of the given words; None is allowed where it is the default."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value not in names and not (value is None and default is None):
            raise ValueError(f"{attribute.name} must be one of {', '.join(map(repr, names))}, got {value!r}")

    return attrs.field(default=default, validator=check)


def weights_by_source(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for a table `source = number`, every number in [0, 1]; unknown sources are refused."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        for source, number_ in value.items():
            if not 0 <= number_ <= 1:
                raise ValueError(f"{attribute.name}.{source} must be between 0 and 1, got {number_!r}")

    return attrs.field(default=default, validator=check, metadata={SOURCES: True})


def numbers_by_source(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for a table `source = number`, every number finite, not all 0; unknown sources are refused."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        for source, number_ in value.items():
            if number_ != number_ or number_ in (float("inf"), float("-inf")):
                raise ValueError(f"{attribute.name}.{source} must be finite, got {number_!r}")
        if not any(value.values()):
            raise ValueError(f"{attribute.name} must hold at least one number other than 0")

    return attrs.field(default=default, validator=check, metadata={SOURCES: True})


def factors_by_source(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for a table `source = number`, every number from 1e-6 to 1e6; unknown sources are refused."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        for source, number_ in value.items():
            if not 1e-6 <= number_ <= 1e6:
                raise ValueError(f"{attribute.name}.{source} must be from 1e-6 to 1e6, got {number_!r}")

    return attrs.field(default=default, validator=check, metadata={SOURCES: True})


def source_names(*, default: Any = attrs.NOTHING, validator: Any = None) -> Any:
    """Return a field for a list of source names; a scenario with a name that is no source is refused."""
    return attrs.field(default=default, validator=validator, metadata={SOURCES: True})


def file_patterns(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for a list of files or patterns; a loaded scenario holds them as absolute paths.

    The list is not empty, unless a default is given.
    """

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: tuple[str, ...]) -> None:
        if not value and default is attrs.NOTHING:
            raise ValueError(f"{attribute.name} must name at least one file or pattern")
        for pattern in value:
            try:
                Path(pattern).expanduser()
            except RuntimeError:
                raise ValueError(
                    f"{attribute.name} must start in a known home folder, got {pattern!r}; write the path"
                ) from None

    return attrs.field(default=default, validator=check, metadata={PATHS: True})


def path(*, default: Any = attrs.NOTHING) -> Any:
    """Return a field for the path of a file or folder; a loaded scenario holds it as an absolute path."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
        if value == "":
            raise ValueError(f"{attribute.name} must name a file or folder, got an empty text")

    return attrs.field(default=default, validator=check, metadata={PATHS: True})


def _bounds(above: float | None, at_least: float | None, at_most: float | None, below: float | None) -> _Check:
    tests: list[tuple[float | None, Callable[[Any, float], bool], str]] = [
        (above, operator.gt, "greater than"),
        (at_least, operator.ge, "at least"),
        (at_most, operator.le, "at most"),
        (below, operator.lt, "less than"),
    ]

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        if value is None:
            return
        for bound, holds, words in tests:
            if bound is not None and not holds(value, bound):
                raise ValueError(f"{attribute.name} must be {words} {bound}, got {shown(value)}")
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{attribute.name} must be finite, got {value!r}")

    return check

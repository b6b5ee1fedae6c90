"""The texts of the bounds that `andrea region` is given, as numbers and names; every complaint names its option."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.spelling import nearest

if TYPE_CHECKING:
    from andrea_core.simplex import Region


@attrs.frozen
class Extra:
    """Bounds given on the command line."""

    floors: Mapping[str, float]
    caps: Mapping[str, float]
    exclude: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    sums: Mapping[str, tuple[float, float]]

    def cut(self, region: "Region") -> "Region":
        """Return the region's part inside the bounds, each with the option as its reason."""
        from andrea_core.simplex.groups.stated import Group

        region = region.restrict(floors=self.floors, reason="--floors").restrict(caps=self.caps, reason="--caps")
        region = region.restrict(exclude=self.exclude, reason="--exclude")
        bounded = [Group(self.groups[label], low, high) for label, (low, high) in self.sums.items()]
        return region.restrict(groups=bounded, reason="--group") if bounded else region

    def refuse_unknown(self, names: Sequence[str], hint: str = "") -> None:
        """Raise ScenarioError for a source that is none of the names, with its option and a hint."""
        members = [member for group in self.groups.values() for member in group]
        for option, given in (
            ("--floors", self.floors), ("--caps", self.caps), ("--exclude", self.exclude), ("--group", members)
        ):  # fmt: skip
            for name in given:
                if name not in names:
                    raise ScenarioError(f"{option}: unknown source {name!r}{nearest(name, names)}{hint}")


def extra_of(floors: Iterable[str], caps: Iterable[str], exclude: Iterable[str], group: Iterable[str]) -> Extra:
    """Return the bounds that the options give; raises ScenarioError for a text that is none."""
    left_out = tuple(name for text in exclude for name in words("--exclude", text))
    return Extra(_numbers("--floors", floors), _numbers("--caps", caps), left_out, *_groups(group))


def words(option: str, text: str, between: str = ",") -> list[str]:
    """Return the names in a text; raises ScenarioError for an empty one, and for one that cannot be printed."""
    found = [word.strip() for word in text.split(between)]
    if not all(found):
        raise ScenarioError(f"{option} {text!r}: a name is empty; name at least one source, {between!r} between two")
    for word in found:
        if not word.isprintable():
            raise ScenarioError(f"{option}: the name {word!r} has characters that cannot be printed")
    return found


def sources_of(text: str) -> tuple[str, ...]:
    """Return the sources that `--sources` names; raises ScenarioError for one that is named twice."""
    found = words("--sources", text)
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise ScenarioError(f"--sources: {twice[0]!r} is named twice; source names must differ")
    return tuple(found)


def _numbers(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Return the table that `source=number` pairs give; raises ScenarioError for what is none, or one given twice."""
    found: dict[str, float] = {}
    for word in (word for text in texts for word in words(option, text)):
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not name:
            raise ScenarioError(f"{option} {word}: must be SOURCE=NUMBER, for example {option} chat=0.25")
        if name in found:
            raise ScenarioError(f"{option}: source {name!r} is given twice")
        found[name] = _number(f"{option} {word}", value)
    return found


def _number(where: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ScenarioError(f"{where}: {text!r} is not a number") from None
    if not 0 <= value <= 1:
        raise ScenarioError(f"{where}: {text} must be between 0 and 1")
    return value


def _groups(texts: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[float, float]]]:
    """Return the members of each group by its name, and the bounds of those that have any."""
    members: dict[str, tuple[str, ...]] = {}
    bounds: dict[str, tuple[float, float]] = {}
    for text in texts:
        label, equals, rest = text.partition("=")
        names, colon, limits = rest.partition(":")
        if not equals or not label.strip() or not names:
            raise ScenarioError(f"--group {text}: must be NAME=A+B or NAME=A+B:L..U, for example talk=chat+irc:0.5..1")
        (label,) = words("--group", label, "=")
        if label in members:
            raise ScenarioError(f"--group {text}: the name {label!r} is given twice; give each group its own")
        members[label] = tuple(words("--group", names, "+"))
        if colon:
            low, dots, high = limits.partition("..")
            if not dots:
                raise ScenarioError(f"--group {text}: bounds must be L..U, for example 0.5..1")
            bounds[label] = (_number(f"--group {text}", low or "0"), _number(f"--group {text}", high or "1"))
    return members, bounds

"""What differs between two trees of settings: each key with its value before and now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from andrea_core.layers import Tree
from andrea_core.spelling import dotted, shown

_MOST = 8
_NOTHING = object()


@attrs.frozen
class Change:
    """A key that has another value; None stands for a key that is not there."""

    place: tuple[str, ...]
    was: Any
    now: Any

    def __str__(self) -> str:
        was, now = ("nothing" if value is None else shown(value) for value in (self.was, self.now))
        return f"{dotted(self.place)}: {was} -> {now}"


def changes(was: Tree, now: Tree) -> list[Change]:
    """Return every key with different values, down to single numbers and texts; lists of equal length item by item.

    >>> [str(one) for one in changes({"run": {"steps": 5}, "seed": 1}, {"run": {"steps": 7}, "seed": 1})]
    ['run.steps: 5 -> 7']
    """
    return list(_changes(was, now, ()))


def in_words(found: Sequence[Change]) -> str:
    """Return changes as one text; only the first few of many."""
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return ", ".join(map(str, found[:_MOST])) + more


def _changes(was: Any, now: Any, place: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*was, *now]):
            yield from _changes(was.get(key, _NOTHING), now.get(key, _NOTHING), (*place, key))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, pair in enumerate(zip(was, now, strict=True)):
            yield from _changes(*pair, (*place, f"[{index}]"))
    elif type(was) is not type(now) or was != now:
        yield Change(place, *(None if value is _NOTHING else value for value in (was, now)))

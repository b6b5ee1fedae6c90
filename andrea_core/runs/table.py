"""One recorded group as a read-only mapping from array name to numpy array, even when the run was killed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import zarr
from zarr.storage import LocalStore

from andrea_core.runs.soundness import check_descriptions, readable

Array = npt.NDArray[Any]
Value = TypeVar("Value")
TAIL = 2048  # several chunks of the recorder, which fills at most one at a time


class Table(Mapping[str, Array]):
    """Arrays that share their rows: `table["loss"]`, shape (rows,) or (rows, width).

    A recorder that was killed may leave arrays of unequal length: all are cut to the shortest, `rows`. An array that
    is absent, or empty while others have rows, is not `in` the table; one of the `known` still reads, with no rows.
    """

    def __init__(
        self, group: zarr.Group | None, known: Mapping[str, tuple[int, ...]], never_blank: tuple[str, ...] = ()
    ) -> None:
        """Look at a zarr group (None: absent); `known` gives the shape of one row of the arrays that readers expect.

        An array grows before it is filled: last rows in which one of the `never_blank` is all 0 or NaN are none.
        """
        found = {} if group is None else members(group)
        self._arrays = {name: found[name] for name in sorted(found) if found[name].ndim and found[name].shape[0]}
        self._known = known
        self._cache: dict[str, Array] = {}
        self.rows: int = min((array.shape[0] for array in self._arrays.values()), default=0)
        self.rows = min((self._filled(name) for name in never_blank if name in self._arrays), default=self.rows)
        if not self.rows:
            self._arrays = {}

    def __getitem__(self, name: str) -> Array:
        if name in self._cache:
            return self._cache[name]
        if name not in self._arrays:
            if name in self._known:
                return np.empty((0, *self._known[name]))
            raise KeyError(f"{name!r} was not recorded; there is {', '.join(self) or 'nothing'}")
        return self._cache.setdefault(name, self._read(name, 0))

    def __repr__(self) -> str:
        shapes = (f"{name} {(self.rows, *array.shape[1:])}" for name, array in self._arrays.items())
        return f"Table({self.rows} rows: {', '.join(shapes)})" if self._arrays else "Table(0 rows)"

    def _filled(self, name: str) -> int:
        """Return how many rows there are up to the last that is not blank; only the end of an array can be blank."""
        start = max(0, self.rows - TAIL)
        tail = np.nan_to_num(np.asarray(self._read(name, start), np.float64)).reshape(self.rows - start, -1)
        filled = np.flatnonzero(tail.any(axis=1))
        return start + int(filled[-1]) + 1 if len(filled) else start

    def _read(self, name: str, start: int) -> Array:
        """Return an array's rows from `start` on; raises RunError, naming the array, when a chunk is torn."""
        with readable(self._arrays[name].store_path):
            return np.asarray(self._arrays[name][start : self.rows])

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def has(self, *names: str) -> bool:
        """Return whether each of the named arrays holds a row."""
        return all(name in self._arrays for name in names)

    def names(self, array: str) -> list[str]:
        """Return the array's attribute `names`: what its integers, or its columns, stand for."""
        found = self._arrays[array].attrs.asdict().get("names") if array in self._arrays else None
        return [str(name) for name in found] if isinstance(found, list) else []

    def decoded(self, array: str) -> list[str]:
        """Return the array's integers as the names they index, one a row."""
        names = self.names(array)
        return [names[i] if 0 <= i < len(names) else str(i) for i in map(int, self[array])]


def members(group: zarr.Group) -> dict[str, zarr.Array[Any]]:
    """Return a group's arrays by name, as they are on disk; raises RunError, naming it, for a torn description."""
    if isinstance(group.store, LocalStore):
        check_descriptions(group.store.root / group.path)
    with readable(group.store_path):
        return {str(name): array for name, array in group.arrays()}


class Named(Mapping[str, Value], Generic[Value]):
    """A read-only mapping that prints what its values are, by name, and not their contents."""

    def __init__(self, kind: str, values: Mapping[str, Value], describe: Callable[[Value], str]) -> None:
        """Wrap `values`; `kind` is the name to print, `describe` says what a value is in a few words."""
        self._kind, self._values, self._describe = kind, dict(values), describe

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise KeyError(f"{name!r} was not recorded; there is {', '.join(self) or 'nothing'}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        inside = ", ".join(f"{name} {self._describe(value)}" for name, value in self._values.items())
        return f"{self._kind}({inside or 'nothing'})"

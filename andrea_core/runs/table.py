"""One recorded group as a read-only mapping from array name to numpy array, even when the run was killed."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

Array = npt.NDArray[Any]
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
        found = {} if group is None else {str(name): array for name, array in group.arrays()}
        self._arrays = {name: found[name] for name in sorted(found) if found[name].ndim and found[name].shape[0]}
        self._known = known
        self._cache: dict[str, Array] = {}
        self.rows: int = min((array.shape[0] for array in self._arrays.values()), default=0)
        self.rows = min((self._filled(name) for name in never_blank if name in self._arrays), default=self.rows)

    def __getitem__(self, name: str) -> Array:
        if name in self._cache:
            return self._cache[name]
        if name not in self._arrays:
            if name in self._known:
                return np.empty((0, *self._known[name]))
            raise KeyError(f"{name!r} was not recorded; there is {', '.join(self) or 'nothing'}")
        return self._cache.setdefault(name, np.asarray(self._arrays[name][: self.rows]))

    def _filled(self, name: str) -> int:
        """Return how many rows there are up to the last that is not blank; only the end of an array can be blank."""
        start = max(0, self.rows - TAIL)
        tail = np.nan_to_num(np.asarray(self._arrays[name][start : self.rows], np.float64)).reshape(
            self.rows - start, -1
        )
        filled = np.flatnonzero(tail.any(axis=1))
        return start + int(filled[-1]) + 1 if len(filled) else start

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

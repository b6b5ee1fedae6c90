"""A growing table of the record: rows gathered in memory, taken as a block, and written as whole zarr chunks."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import zarr

from andrea_core.runs.soundness import blank_digest, check_table, digest, layout, readable

CHUNK_BYTES = 2**24
"""Beyond this a chunk on disk is smaller: zarr builds a whole one in memory, however few rows are in it."""


@attrs.frozen(eq=False)
class Block:
    """Rows of a table from `start` on, which begins a chunk; `dirty` says whether any of them is not on disk yet."""

    start: int
    rows: int
    columns: Mapping[str, list[Any]]
    dirty: bool


class Table:
    """Arrays of one zarr group that grow together, a row a record.

    Rows of the unfinished chunk stay in memory and are written anew with the chunk, never read back: what is on disk
    is a prefix of the record whenever the process dies, and a checkpoint that keeps these rows can rewrite the chunk.

    `append`, `extend` and `take` gather; `write`, `state`, `check` and `restore` touch the disk. One thread may gather
    while another writes what was taken, provided that blocks are written one after the other, in order.
    """

    def __init__(self, root: zarr.Group, name: str, chunk: int):
        self._root, self.name, self._chunk = root, name, chunk
        self._tail: dict[str, list[Any]] = {}
        self._blanks: dict[str, Any] = {}  # what stands in a row that has no value
        self._start = 0  # the row at which the tail begins
        self._pending = 0  # rows of the tail
        self._clean = 0  # rows of the tail that were taken to be written
        self._arrays: dict[str, Any] = {}
        self._digests: dict[str, list[int]] = {}  # of every full chunk, so that a later process can check it

    def __len__(self) -> int:
        return self._start + self._pending

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one record; where a column has no value stands NaN, 0 or an empty text."""
        for key in row:
            if key not in self._tail:
                self._blanks[key] = _blank(row[key])
                self._tail[key] = [self._blanks[key]] * self._pending
        for key, values in self._tail.items():
            values.append(row[key] if key in row else self._blanks[key])
        self._pending += 1

    def extend(self, columns: Mapping[str, Any]) -> None:
        """Add one record for each entry of columns of equal length: what `append` does, many rows at a time."""
        count = len(next(iter(columns.values())))
        if columns.keys() != self._tail.keys():
            for index in range(count):
                self.append({key: values[index] for key, values in columns.items()})
            return
        for key, values in columns.items():
            self._tail[key].extend(values)
        self._pending += count

    def take(self) -> Block:
        """Return the rows since the last full chunk, to be written; full chunks leave the memory."""
        columns = {key: list(values) for key, values in self._tail.items()}
        taken = Block(self._start, self._pending, columns, self._pending != self._clean)
        full = self._full(taken)
        self._tail = {key: values[full:] for key, values in self._tail.items()}
        self._start, self._pending = self._start + full, self._pending - full
        self._clean = self._pending
        return taken

    @property
    def ripe(self) -> bool:
        """Whether a chunk is full."""
        return self._pending >= self._chunk

    def write(self, taken: Block) -> None:
        """Write what is not on disk yet."""
        if not taken.dirty:
            return
        for key, values in taken.columns.items():
            array = self._arrays[key] if key in self._arrays else self._create(key, values[0], taken.start)
            array.resize((taken.start + taken.rows, *array.shape[1:]))
            block = _block(values, array.dtype)
            array[taken.start :] = block
            starts = range(0, self._full(taken), self._chunk)
            self._digests[key] += [digest(block[start : start + self._chunk]) for start in starts]

    def state(self, taken: Block) -> dict[str, Any]:
        """Return what a checkpoint keeps once a block is written.

        That is where the unfinished chunk starts, its rows, and digests of the chunks before.
        """
        full = self._full(taken)
        return {
            "start": taken.start + full,
            "pending": taken.rows - full,
            "tail": {key: _packed(values[full:]) for key, values in taken.columns.items()},
            "layout": {key: layout(array) for key, array in self._arrays.items()},
            "digests": {key: np.array(found, np.uint32) for key, found in self._digests.items() if found},
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Check that what a checkpoint relies on is on disk; changes nothing. Raises RunError that names the array."""
        where = f"{self._root.store_path}/{self.name}".removeprefix("file://")
        with readable(where):
            check_table(self._found(), state, self._chunk, where)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state: later rows are dropped, the unfinished chunk is written anew."""
        self._start, self._pending = state["start"], state["pending"]
        self._tail = {key: list(values) for key, values in state["tail"].items()}
        self._arrays = self._found()
        for key in self._arrays.keys() - self._tail.keys():  # a column that appeared after the checkpoint
            del self._arrays[key]
            del self._root[f"{self.name}/{key}"]
        self._digests = {key: list(map(int, state["digests"].get(key, ()))) for key in self._tail}
        for key, values in self._tail.items():
            array = self._arrays[key] if key in self._arrays else self._create(key, values[0], self._start)
            array.resize((self._start, *array.shape[1:]))  # a torn last chunk goes, unread
            array.resize((len(self), *array.shape[1:]))
            if self._pending:
                array[self._start :] = _block(values, array.dtype)
        self._blanks = {key: _blank(_sample(self._arrays[key])) for key in self._tail}
        self._clean = self._pending

    def _full(self, taken: Block) -> int:
        """Return how many rows of a block are in full chunks."""
        return taken.rows - taken.rows % self._chunk

    def _found(self) -> dict[str, Any]:
        """Return the arrays that are on disk."""
        group = self._root.get(self.name)
        return dict(group.arrays()) if isinstance(group, zarr.Group) else {}

    def _create(self, key: str, value: Any, start: int) -> Any:
        text = isinstance(value, str)
        one = np.asarray(value)
        shape = () if text else one.shape
        self._arrays[key] = self._root.require_group(self.name).create_array(
            key,
            shape=(0, *shape),
            chunks=(_rows(self._chunk, 8 if text else one.nbytes), *shape),
            dtype=str if text else one.dtype,
            fill_value="" if text else float("nan") if one.dtype.kind == "f" else 0,
        )
        blank = blank_digest(self._arrays[key], self._chunk) if start else 0
        self._digests[key] = [blank] * (start // self._chunk)
        return self._arrays[key]


def _rows(chunk: int, row_bytes: int) -> int:
    """Return how many rows a chunk on disk has: as many as the table's, or a part of them where rows are large."""
    while chunk > 1 and chunk % 2 == 0 and chunk * row_bytes > CHUNK_BYTES:
        chunk //= 2
    return chunk


def _sample(array: Any) -> Any:
    return "" if array.dtype.kind in "OT" else np.zeros(array.shape[1:], array.dtype)


def _blank(value: Any) -> Any:
    """Return what stands in a row that has no value of this kind: NaN, 0 or an empty text."""
    if isinstance(value, str):
        return ""
    array = np.asarray(value)
    return np.full_like(array, np.nan) if array.dtype.kind == "f" else np.zeros_like(array)


def _block(values: list[Any], dtype: Any) -> Any:
    if isinstance(values[0], str):
        return np.array(values, dtype=object)
    return np.array(values, dtype)


def _packed(values: list[Any]) -> Any:
    if not values or isinstance(values[0], str):
        return tuple(values)
    return np.stack([np.asarray(value) for value in values])

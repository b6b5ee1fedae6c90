"""The recorder: buffers rows and writes whole zarr chunks, so that a crash never leaves half a record."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from andrea_core.errors import RunError
from andrea_core.runs.cpu import cpu_type
from andrea_core.runs.files import disk_errors
from andrea_core.runs.soundness import RESTORE, blank_digest, check_descriptions, check_table, digest, layout, readable

CHUNK, WHOLE = 512, 2**16
"""Rows of a chunk: in the record of a run that may be killed, and in one that is written in one go."""

CHUNK_BYTES = 2**24
"""Beyond this a chunk on disk is smaller: zarr builds a whole one in memory, however few rows are in it."""


class Table:
    """Arrays of one zarr group that grow together, a row a record.

    Rows of the unfinished chunk stay in memory and are written anew with the chunk, never read back: what is on disk
    is a prefix of the record whenever the process dies, and a checkpoint that keeps these rows can rewrite the chunk.
    """

    def __init__(self, root: zarr.Group, name: str, chunk: int = CHUNK):
        self._root, self.name, self._chunk = root, name, chunk
        self._arrays: dict[str, Any] = {}
        self._tail: dict[str, list[Any]] = {}
        self._digests: dict[str, list[int]] = {}  # of every full chunk, so that a later process can check it
        self._start = 0  # the row at which the tail begins
        self._pending = 0  # rows of the tail
        self._clean = 0  # rows of the tail that are on disk

    def __len__(self) -> int:
        return self._start + self._pending

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one record; where a column has no value stands NaN, 0 or an empty text."""
        for key in row:
            if key not in self._tail:
                self._tail[key] = [_blank(row[key])] * self._pending
        for key, values in self._tail.items():
            values.append(row[key] if key in row else _blank(values[-1] if values else self._sample(key)))
        self._pending += 1

    def extend(self, columns: Mapping[str, Any]) -> None:
        """Add one record for each entry of columns of equal length: what `append` does, many rows at a time."""
        count = len(next(iter(columns.values())))
        if columns.keys() != self._tail.keys() and (self._tail or len(self)):
            for index in range(count):
                self.append({key: values[index] for key, values in columns.items()})
            return
        for key, values in columns.items():
            self._tail.setdefault(key, []).extend(values)
        self._pending += count

    def flush(self) -> None:
        """Write what is not on disk yet; full chunks leave the memory."""
        if self._pending == self._clean:
            return
        for key, values in self._tail.items():
            array = self._arrays.get(key) or self._create(key, values[0])
            array.resize((len(self), *array.shape[1:]))
            block = _block(values, array.dtype)
            array[self._start :] = block
            starts = range(0, self._pending - self._pending % self._chunk, self._chunk)
            self._digests[key] += [digest(block[start : start + self._chunk]) for start in starts]
        full = self._pending - self._pending % self._chunk
        self._tail = {key: values[full:] for key, values in self._tail.items()}
        self._start, self._pending = self._start + full, self._pending - full
        self._clean = self._pending

    @property
    def ripe(self) -> bool:
        """Whether a chunk is full."""
        return self._pending >= self._chunk

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: where the unfinished chunk starts, its rows, and digests of those before."""
        return {
            "start": self._start,
            "pending": self._pending,
            "tail": {key: _packed(values) for key, values in self._tail.items()},
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
            array = self._arrays.get(key) or self._create(key, values[0])
            array.resize((self._start, *array.shape[1:]))  # a torn last chunk goes, unread
            array.resize((len(self), *array.shape[1:]))
            if self._pending:
                array[self._start :] = _block(values, array.dtype)
        self._clean = self._pending

    def _found(self) -> dict[str, Any]:
        """Return the arrays that are on disk."""
        group = self._root.get(self.name)
        return dict(group.arrays()) if isinstance(group, zarr.Group) else {}

    def _sample(self, key: str) -> Any:
        array = self._arrays[key]
        return "" if array.dtype.kind in "OT" else np.zeros(array.shape[1:], array.dtype)

    def _create(self, key: str, value: Any) -> Any:
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
        blank = blank_digest(self._arrays[key], self._chunk) if self._start else 0
        self._digests[key] = [blank] * (self._start // self._chunk)
        return self._arrays[key]


class Recorder:
    """All tables of a run, flushed when a chunk is full, at checkpoints, and now and then for those who watch."""

    def __init__(
        self, path: Path, attributes: Mapping[str, Any], *, every_seconds: float | None = None, whole: bool = False
    ):
        """Open or make the record; with `whole` it is written in large chunks, at `flush` and not before."""
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file where the record should be; {RESTORE}")
        check_descriptions(path, deep=True)
        with disk_errors(str(path)), readable(path, besides=OSError):
            self._root = zarr.open_group(path, mode="a")
            cpus = self._root.attrs.asdict().get("cpus")
            known = [*cpus, cpu_type()] if isinstance(cpus, list) else [cpu_type()]
            self._root.attrs.update({**attributes, "cpus": list(dict.fromkeys(known))})  # of everyone who wrote here
        self._tables: dict[str, Table] = {}
        self._names: dict[str, list[str]] = {}
        self._every, self._last, self._whole = every_seconds, time.monotonic(), whole
        self._path = path

    def __getitem__(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = Table(self._root, name, WHOLE if self._whole else CHUNK)
        return self._tables[name]

    def code(self, table: str, array: str, name: str) -> np.int32:
        """Return the integer that stands for a text in an array; the texts are the array's attribute `names`."""
        names = self._names.setdefault(f"{table}/{array}", [])
        if name not in names:
            names.append(name)
        return np.int32(names.index(name))

    def tick(self) -> None:
        """Write everything if a chunk is full, or if it was not written for a while."""
        due = self._every is not None and time.monotonic() - self._last >= self._every
        if due or (not self._whole and any(table.ripe for table in self._tables.values())):
            self.flush()

    def flush(self) -> None:
        """Write everything."""
        with disk_errors(str(self._path)):
            for table in self._tables.values():
                table.flush()
            for array, names in self._names.items():
                if array in self._root:
                    self._root[array].attrs["names"] = names
        self._last = time.monotonic()

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        tables = {name: table.state() for name, table in self._tables.items()}
        return {"tables": tables, "names": {array: tuple(names) for array, names in self._names.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut every table back to a checkpoint; tables that began later vanish.

        Raises RunError, before anything is changed, when what was written earlier is no longer there.
        """
        with readable(self._path):
            members = sorted(self._root.members(max_depth=None))
        for name, table in state["tables"].items():
            self[name].check(table)
        with disk_errors(str(self._path)):
            self._cut_back(members, state)

    def _cut_back(self, members: list[tuple[str, Any]], state: Mapping[str, Any]) -> None:
        for name, member in members:
            if isinstance(member, zarr.Array) and name.rpartition("/")[0] not in state["tables"]:
                del self._root[name]
        self._names = {array: list(names) for array, names in state["names"].items()}
        for name, table in state["tables"].items():
            self[name].restore(table)


def _rows(chunk: int, row_bytes: int) -> int:
    """Return how many rows a chunk on disk has: as many as the table's, or a part of them where rows are large."""
    while chunk > 1 and chunk % 2 == 0 and chunk * row_bytes > CHUNK_BYTES:
        chunk //= 2
    return chunk


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

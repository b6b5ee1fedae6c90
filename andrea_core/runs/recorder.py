"""The recorder: buffers rows and writes whole zarr chunks, so that a crash never leaves half a record."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import zarr

from andrea_core.errors import RunError
from andrea_core.runs.cpu import cpu_type
from andrea_core.runs.files import disk_errors
from andrea_core.runs.rows import Block, Table
from andrea_core.runs.soundness import RESTORE, check_descriptions, drop_unborn, readable
from andrea_core.runs.writer import Writer

CHUNK, WHOLE = 512, 2**16
"""Rows of a chunk: in the record of a run that may be killed, and in one that is written in one go."""


@attrs.frozen(eq=False)
class Batch:
    """All that a recorder holds at one moment: a block a table, and the texts that integers stand for."""

    blocks: Mapping[str, Block]
    names: Mapping[str, tuple[str, ...]]


class Recorder:
    """All tables of a run, written when a chunk is full, at checkpoints, and now and then for those who watch.

    `take` gathers what there is to write and costs next to nothing; `write` may then run in another thread, as long as
    batches are written in the order in which they were taken.
    """

    def __init__(
        self,
        path: Path,
        attributes: Mapping[str, Any],
        *,
        every_seconds: float | None = None,
        whole: bool = False,
        writer: Writer | None = None,
    ):
        """Open or make the record; with `whole` it is written in large chunks, at `flush` and not before.

        With a `writer`, what `tick` writes is written beside the loop.
        """
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
        self._path, self._writer = path, writer or Writer()
        self._beside = writer is not None

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

    def name_places(self, table: str, array: str, shape: tuple[int, ...]) -> None:
        """Name the entries of an array's rows by their places, counted from 1, as "2.1": its attribute `names`."""
        key = f"{table}/{array}"
        if key not in self._names:
            self._names[key] = [".".join(str(index + 1) for index in place) for place in np.ndindex(shape)]

    def tick(self) -> None:
        """Write everything if a chunk is full, or if it was not written for a while; not while others still write."""
        due = self._every is not None and time.monotonic() - self._last >= self._every
        if not due and (self._whole or not any(table.ripe for table in self._tables.values())):
            return
        if not self._beside:
            self.flush()
        elif not self._writer.busy:
            self._writer.wait()
            batch = self.take()
            self._writer.start(lambda: self.write(batch))

    def flush(self) -> None:
        """Write everything, and wait until it is written."""
        self._writer.wait()
        self.write(self.take())

    def take(self) -> Batch:
        """Return all that is to be written; call it when nothing else that was taken still waits to be written."""
        self._last = time.monotonic()
        names = {array: tuple(names) for array, names in self._names.items()}
        return Batch({name: table.take() for name, table in self._tables.items()}, names)

    def write(self, batch: Batch) -> None:
        """Write a batch."""
        with disk_errors(str(self._path)):
            for name, block in batch.blocks.items():
                self._tables[name].write(block)
            for array, names in batch.names.items():
                if array in self._root:  # anew each time: an array that grows forgets its attributes
                    self._root[array].attrs["names"] = list(names)

    def state(self, batch: Batch | None = None) -> dict[str, Any]:
        """Return what a checkpoint keeps once a batch is written; without one everything is written first."""
        if batch is None:
            batch = self.take()
            self.write(batch)
        tables = {name: self._tables[name].state(block) for name, block in batch.blocks.items()}
        return {"tables": tables, "names": dict(batch.names)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Cut every table back to a checkpoint; tables that began later vanish.

        Raises RunError, before any row is changed, when what was written earlier is no longer there.
        """
        with disk_errors(str(self._path)):
            drop_unborn(self._path)
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

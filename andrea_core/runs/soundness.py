"""Whether a record holds what was written: a digest of each full chunk, and errors that name what is damaged."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from andrea_core.errors import AndreaError, RunError
from andrea_core.runs.files import remove

RESTORE = "restore the folder from a copy, or make the run anew: `andrea run`, or `andrea simulate` if it was simulated"


@contextmanager
def readable(what: object, *, besides: type[Exception] = AndreaError) -> Iterator[None]:
    """Turn whatever zarr raises at a torn part of the record into one RunError that names it; `besides` passes."""
    try:
        yield
    except (AndreaError, besides):
        raise
    except Exception as error:  # zarr and its codecs raise RuntimeError, ValueError, KeyError, OSError, ...
        reason = str(error) or type(error).__name__
        where = str(what).removeprefix("file://")
        raise RunError(f"{where}: this part of the record is damaged ({reason}); {RESTORE}") from error


def check_descriptions(folder: Path, *, deep: bool = False) -> None:
    """Raise RunError that names a torn zarr.json in a folder of the record or one below it (`deep`: anywhere below).

    zarr reads the members of a group at the same time, and complains of the others' reading when one is torn.
    """
    for path in sorted([folder / "zarr.json", *folder.glob("**/zarr.json" if deep else "*/zarr.json")]):
        with readable(path), suppress(FileNotFoundError):
            found = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict) or found.get("node_type") not in ("group", "array"):
                raise ValueError("it describes neither a group nor an array")


def drop_unborn(folder: Path) -> None:
    """Remove what a killed process had only begun to make in a folder of the record: files aside, folders of no file.

    zarr makes a group's or an array's folder first and writes into it, aside, what it is; it warns of such a rest.
    """
    for aside in folder.glob("zarr.*.partial"):
        remove(aside)
    for child in [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]:
        if (child / "zarr.json").exists():
            drop_unborn(child)
        elif all(path.is_dir() or path.suffix == ".partial" for path in child.rglob("*")):
            remove(child)


def layout(array: Any) -> str:
    """Return an array's type and the shape of one row as a text."""
    kind = "text" if array.dtype.kind in "OTU" else str(array.dtype)
    return f"{kind} {tuple(array.shape[1:])}"


def digest(block: Any) -> int:
    """Return the CRC-32 of some rows; every NaN counts as the same, since a blank chunk may not keep its bits."""
    rows = np.asarray(block)
    if rows.dtype.kind in "OTU":
        return zlib.crc32("\0".join(map(str, rows.tolist())).encode())
    if rows.dtype.kind == "f":
        rows = np.where(np.isnan(rows), rows.dtype.type(np.nan), rows)
    return zlib.crc32(np.ascontiguousarray(rows).tobytes())


def blank_digest(array: Any, rows: int) -> int:
    """Return the digest of rows that hold nothing but the array's fill value."""
    dtype = object if layout(array).startswith("text") else array.dtype
    return digest(np.full((rows, *array.shape[1:]), array.fill_value, dtype))


def check_array(array: Any, expected: str, digests: Sequence[int], chunk: int) -> None:
    """Check an array's type, row shape and full chunks; raises RunError that names the array and the rows."""
    where = str(array.store_path).removeprefix("file://")
    if layout(array) != expected:
        raise RunError(f"{where}: the record is damaged: it is {layout(array)}, not {expected}; {RESTORE}")
    for index, written in enumerate(map(int, digests)):
        rows = slice(index * chunk, (index + 1) * chunk)
        name = f"{where}, rows {rows.start} to {rows.stop - 1}"
        with readable(name):
            found = digest(array[rows])
        if found != written:
            raise RunError(f"{name}: the record is damaged: these rows are not what was written; {RESTORE}")


def check_table(arrays: Mapping[str, Any], state: Mapping[str, Any], chunk: int, where: str) -> None:
    """Check that a table on disk holds what a checkpoint says was written before its unfinished chunk.

    An array that is missing passes when the checkpoint holds all its rows. Raises RunError.
    """
    for key, expected in state["layout"].items():
        if key in arrays:
            check_array(arrays[key], expected, state["digests"].get(key, ()), chunk)
        elif state["start"]:
            raise RunError(f"{where}/{key}: this part of the record is missing; {RESTORE}")

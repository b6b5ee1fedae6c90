"""JSON lines: append one line of JSON a phase to a file in the run folder."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import attrs

from andrea_core import Sources


@attrs.frozen
class Jsonl:
    """Write each finished phase to `file` in the run folder, one JSON object a line, flushed at once.

    Numbers that JSON does not have (NaN, infinities) become null. The file is only ever appended to: phases that a
    resumed run repeats stand there twice, and the later line counts.
    """

    file: str = "phases.jsonl"

    def open(self, folder: str, sources: Sources) -> TextIO:
        """Return the file, opened for appending; a line that a killed run left unfinished is closed off first."""
        path = Path(folder) / self.file
        torn = path.exists() and not _ends_a_line(path)
        stream = path.open("a", encoding="utf-8", newline="\n")
        stream.write("\n" if torn else "")
        return stream

    def phase(self, handle: TextIO, record: Mapping[str, Any]) -> None:
        """Append the phase."""
        handle.write(json.dumps(_plain(record), ensure_ascii=False, allow_nan=False) + "\n")
        handle.flush()

    def close(self, handle: TextIO) -> None:
        """Close the file."""
        handle.close()


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        return stream.read() in (b"", b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value

"""What the sources of the user's own files share: patterns, and a fingerprint of what they match."""

import glob
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from andrea_core import CorpusError


def matching_files(name: str, patterns: Sequence[str]) -> list[Path]:
    """Return the files of source `name`: those of each pattern sorted, patterns in their order, each file once.

    `~` is the home folder, `**` crosses folders, and a relative pattern starts in the current directory.

    Raises:
        CorpusError: a pattern matches no file, or starts in the home folder of nobody.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        whole = _expanded(name, pattern)
        names = sorted(glob.glob(whole, recursive=True))  # noqa: PTH207 (pathlib's takes no absolute pattern)
        paths = [path for path in map(Path, names) if path.is_file()]
        if not paths:
            raise CorpusError(
                f"Source {name!r}: no file matches {pattern!r} (looked in {Path.cwd()}). Check `files` of the source."
            )
        found.update(dict.fromkeys(paths))
    return list(found)


def _expanded(name: str, pattern: str) -> str:
    try:
        return str(Path(pattern).expanduser())
    except RuntimeError:
        raise CorpusError(
            f"Source {name!r}: the home folder in {pattern!r} is not known. Write the whole path."
        ) from None


def files_fingerprint(name: str, patterns: Sequence[str], *settings: object) -> str:
    """Return a digest of the files' paths, sizes and times, and of the settings. Raises CorpusError."""
    facts = []
    for path in matching_files(name, patterns):
        status = path.stat()
        facts.append([str(path.absolute()), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps([facts, settings], default=str).encode()).hexdigest()


def text_field(value: object, place: str, field: str) -> str:
    """Return a value that must be text. Raises CorpusError naming the place."""
    if not isinstance(value, str):
        kind = "is missing" if value is None else f"holds {type(value).__name__}, not text"
        raise CorpusError(f"{place}: the field {field!r} {kind}. Name another field, or mend the data.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{place}: the field {field!r} holds a lone surrogate at character {error.start}, which UTF-8 cannot "
            "write. Mend that text."
        ) from None
    return value

"""The plugins of a run, found again: each where it was, or in the file that is named in its place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from andrea_core.errors import RunError
from andrea_core.plugins import file_digest


def placed(
    facts: Mapping[str, Any], was: Sequence[str], given: Sequence[str], *, only_missing: bool = False
) -> list[str]:
    """Return a run's plugins and those given besides; a given file takes the place of the run's that it is.

    It is that of the same file name, or of the same content. With `only_missing` given files do no more than stand for
    those that are not there. Raises RunError that names each file of the run which is neither where it was nor given.
    """
    files = {name: Path(name).expanduser().absolute() for name in given if name.endswith(".py")}
    digests = {str(plugin["origin"]): plugin["digest"] for plugin in facts["plugins"]}
    found, taken = [], set()
    for name in was:
        wanted = name.endswith(".py") and not (only_missing and Path(name).is_file())
        instead = _instead(name, digests.get(name), files) if wanted else None
        taken.add(instead)
        found.append(name if instead is None else str(files[instead]))
    gone = [name for name in found if name.endswith(".py") and not Path(name).is_file()]
    if gone:
        raise RunError(
            f"the plugin file{'s' if len(gone) > 1 else ''} {', '.join(gone)} of the run {'are' if gone[1:] else 'is'} "
            "not there any more; bring back what was there, or name the new place with --plugin FILE"
        )
    return found if only_missing else [*found, *(str(files.get(name, name)) for name in given if name not in taken)]


def _instead(name: str, digest: object, files: Mapping[str, Path]) -> str | None:
    """Return which of the given files is a run's plugin file: one of its name, else one of its content."""
    same = [key for key, path in files.items() if path.name == Path(name).name]
    same += [key for key, path in files.items() if path.is_file() and file_digest(path) == digest]
    return same[0] if same else None

"""The heats of a race on disk: written as each ends, and read again when the same race is begun once more."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from andrea_core import __version__
from andrea_core.errors import RunError
from andrea_core.runs.files import disk_errors, remove, write_text
from andrea_core.runs.folder import LOCK, locked
from andrea_core.scenario import Loaded
from andrea_core.simulator.race import Heat
from andrea_core.simulator.standings import as_csv, from_csv

RUNS, BEGUN = "runs.csv", "begun.json"
"""Every run as a row, and what an unfinished race is of."""


def begun_as(loaded: Mapping[str, Loaded], truth_digest: str) -> dict[str, Any]:
    """Return what tells two races apart: scenario, policies, plugins, truth and version. Seeds may differ."""
    plugins = {plugin.name: plugin.digest for one in loaded.values() for plugin in one.catalogue.active}
    policies = {name: one.digest for name, one in loaded.items()}
    return {"version": __version__, "truth": truth_digest, "plugins": plugins, "policies": policies}


@attrs.define(eq=False)
class Heats:
    """The file of a race's runs, and the runs that it held when the race was begun."""

    path: Path
    earlier: Sequence[Heat] = ()

    def add(self, heat: Heat) -> None:
        """Write a run down; raises RunError when the disk refuses."""
        head, _, row = as_csv([heat]).partition("\n")
        with disk_errors(str(self.path)), self.path.open("a", encoding="utf-8") as file:
            file.write(row if file.tell() else f"{head}\n{row}")


def on_disk(path: Path) -> list[Heat]:
    """Return the runs of a file; none where it is missing. Raises RunError for a damaged one."""
    try:
        return from_csv(path.read_text(encoding="utf-8")) if path.exists() else []
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); name a new folder with --out") from error


@contextmanager
def begun(folder: Path, facts: Mapping[str, Any]) -> Iterator[Heats]:
    """Make a race's folder, or take up an unfinished one of the same facts, and hold it.

    What it needs only while the race runs goes when the block ends well, or before a run was written down; then a
    folder that was made here goes, too. Raises RunError for a folder with anything else in it.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    with disk_errors(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_other(folder, facts)
    lock = locked(folder)
    ended = False
    try:
        yield _taken_up(folder, facts)
        ended = True
    finally:
        if ended or not (folder / RUNS).exists():
            remove(folder / BEGUN)
        lock.release()
        remove(folder / LOCK)
        for place in made:
            with suppress(OSError):  # it holds what was done
                place.rmdir()


def _refuse_other(folder: Path, facts: Mapping[str, Any]) -> None:
    there = {path.name for path in folder.iterdir()} - {LOCK}
    if not there:
        return
    if not there <= {RUNS, BEGUN} or BEGUN not in there:
        raise RunError(f"{folder} is not empty; a race is not written over anything: name a new folder with --out")
    try:
        was = json.loads((folder / BEGUN).read_text(encoding="utf-8"))
    except ValueError:
        was = None
    if was != facts:
        odd = [key for key in facts if not isinstance(was, dict) or was.get(key) != facts[key]]
        raise RunError(
            f"{folder} holds an unfinished race that differs in {', '.join(odd)}; name a new folder with --out"
        )


def _taken_up(folder: Path, facts: Mapping[str, Any]) -> Heats:
    write_text(folder / BEGUN, json.dumps(facts, indent=1) + "\n")
    path = folder / RUNS
    earlier = on_disk(path)
    if earlier:
        write_text(path, as_csv(earlier))  # without a row that was cut off
    else:
        remove(path)
    return Heats(path, earlier)

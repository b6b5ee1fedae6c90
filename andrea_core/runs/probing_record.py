"""What probes found in stored checkpoints, as a record of its own and as a page; the run's record stays as it is."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from andrea_core.errors import RunError
from andrea_core.progress import Progress
from andrea_core.record import Record
from andrea_core.runs.files import disk_errors, write_text
from andrea_core.runs.folder import STORE
from andrea_core.runs.probing import Look, Probing
from andrea_core.runs.recorder import Recorder
from andrea_core.runs.store import open_run

COPIED = ("sources", "name", "stages", "total_steps", "epoch_tokens", "order0")
"""Attributes of the run's record that the new one takes over, so that the same readers and figures understand it."""


def refuse_inside(run: Path, place: Path, option: str) -> None:
    """Raise RunError for a place in the folder of the run that is looked at, which stays as it is."""
    try:
        inside = place.resolve().is_relative_to(run.resolve())
    except (OSError, RuntimeError):  # a link that leads back to itself is said when it is written to
        inside = False
    if inside:
        raise RunError(f"{option} {place} lies in the run that is looked at, {run}, which stays as it is; name another")


def refuse_other_things(out: Path) -> None:
    """Raise RunError unless a folder can be made at a path, or is there and empty."""
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise RunError(f"{out} is there already; name another folder with --out")


def kept(probing: Probing, looks: Sequence[Look], out: Path | None, figure: Path | None) -> None:
    """Write what was found into a folder, and draw it, where either is asked for; raises RunError."""
    if out is not None:
        _write(probing, looks, out)
    if figure is None:
        return
    if out is not None:
        _draw(out, figure)
        return
    with tempfile.TemporaryDirectory() as aside:
        _write(probing, looks, Path(aside))
        _draw(Path(aside), figure)


def _write(probing: Probing, looks: Sequence[Look], out: Path) -> None:
    """Write a record with the tables `probes/NAME`, `eval`, `samples`, `looks` and `events`."""
    was = open_run(probing.folder).attributes
    attributes = {name: was[name] for name in COPIED if name in was}
    with disk_errors(str(out)):
        out.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(out / STORE, {**attributes, "looked_at": str(probing.folder)}, whole=True)
    record = Record(recorder, probing.director, Progress(), probing.groups(), [], 0)
    for look in looks:
        record.findings(look.step, look.findings)
    record.close()


def _draw(folder: Path, figure: Path) -> None:
    from andrea_core.report.page import LANDSCAPE, panels_page
    from andrea_core.report.probes import probe_panels

    run = open_run(folder)
    with disk_errors(str(figure)):
        figure.parent.mkdir(parents=True, exist_ok=True)
        write_text(figure, panels_page(f"{run.name}: probes", [*(draw(run) for draw in LANDSCAPE), *probe_panels(run)]))

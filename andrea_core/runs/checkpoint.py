"""Checkpoints: tensors as safetensors, everything else as JSON, a manifest of digests; no pickle anywhere."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays, save_file as save_arrays

from andrea_core.errors import RunError
from andrea_core.runs.files import FACTS, remove, whole_folder
from andrea_core.runs.keeping import Keep

if TYPE_CHECKING:
    from torch import Tensor

_FORMAT = 2
_MODEL, _OPTIMIZER, _ARRAYS = "model.safetensors", "optimizer.safetensors", "state.safetensors"
_VALUES, _MANIFEST = "state.json", "manifest.json"
_FILES = {_MODEL, _OPTIMIZER, _ARRAYS, _VALUES}


@attrs.frozen(eq=False)
class Checkpoint:
    """What a run is made of at one step: tensors by name, arrays by path, and plain values.

    `heldout` is the mean held-out loss of this very model, in bits a byte, when a probe measured it.
    """

    step: int
    model: Mapping[str, "Tensor"]
    optimizer: Mapping[str, "Tensor"]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    values: Mapping[str, Any]
    heldout: float | None = None


class CheckpointFolder:
    """The checkpoints of one run, newest last."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._sound: set[int] = set()  # steps whose checkpoints this process has written or verified
        self._scores: dict[int, float | None] = {}  # their held-out losses, as far as they were asked for

    def path(self, step: int) -> Path:
        """Return where the checkpoint of a step lies."""
        return self.folder / f"step_{step:07d}"

    def steps(self) -> list[int]:
        """Return the steps that have a checkpoint, valid or not, ascending."""
        names = {path.name for path in self.folder.glob("step_*")}
        steps = sorted(int(name[5:]) for name in names if name[5:].isascii() and name[5:].isdigit())
        return [step for step in steps if self.path(step).name in names]  # none that is spelt in another way

    def save(self, checkpoint: Checkpoint, keep: Keep) -> Path:
        """Write a checkpoint whole or not at all, then drop those that there is no reason to keep.

        Checkpoints of later steps go first: a run goes on from its newest good one, so they are damaged, and what they
        hold never comes about.
        """
        from safetensors.torch import save_file as save_tensors

        target = self.path(checkpoint.step)
        for step in self.steps():
            if step > checkpoint.step:
                self._remove(step)
        for left in self.folder.glob(".step_*.partial"):  # of a process that was killed while it wrote
            remove(left)
        with whole_folder(target) as aside:
            save_tensors(dict(checkpoint.model), aside / _MODEL)
            save_tensors(dict(checkpoint.optimizer), aside / _OPTIMIZER)
            save_arrays(dict(checkpoint.arrays), aside / _ARRAYS)
            about = {"format": _FORMAT, "step": checkpoint.step, "heldout": checkpoint.heldout, "run": self._run()}
            plain = json.dumps({**about, "values": checkpoint.values}, indent=1)
            (aside / _VALUES).write_text(plain, encoding="utf-8")
            digests = {file.name: _sha256(file) for file in sorted(aside.iterdir())}
            (aside / _MANIFEST).write_text(json.dumps(digests, indent=1), encoding="utf-8")
        self._sound.add(checkpoint.step)
        self._scores[checkpoint.step] = checkpoint.heldout
        self._prune(keep)
        return target

    def load(self, step: int) -> Checkpoint:
        """Read a checkpoint; raises RunError, naming the file, when it is damaged."""
        from safetensors.torch import load_file as load_tensors

        folder = self.path(step)
        self.verify(step)
        try:
            plain = json.loads((folder / _VALUES).read_text(encoding="utf-8"))
            return Checkpoint(
                step=step,
                model=load_tensors(folder / _MODEL),
                optimizer=load_tensors(folder / _OPTIMIZER),
                arrays=load_arrays(folder / _ARRAYS),
                values=plain["values"],
                heldout=plain.get("heldout"),
            )
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise RunError(f"{folder} is not a whole checkpoint: {error}") from error

    def plain(self, step: int) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray[Any, Any]]]:
        """Return the plain values and the arrays of a checkpoint, without its tensors; raises RunError, as `load`."""
        folder = self.path(step)
        self.verify(step)
        try:
            values = json.loads((folder / _VALUES).read_text(encoding="utf-8"))["values"]
            return values, load_arrays(folder / _ARRAYS)
        except (OSError, ValueError, SafetensorError) as error:
            raise RunError(f"{folder} is not a whole checkpoint: {error}") from error

    def verify(self, step: int) -> None:
        """Check every file against the manifest; raises RunError, naming the file, when one is damaged."""
        folder = self.path(step)
        try:
            manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            if not isinstance(manifest, dict) or manifest.keys() != _FILES:
                raise ValueError(f"{_MANIFEST} does not list its files")
            for name, digest in manifest.items():
                if _sha256(folder / name) != digest:
                    raise RunError(f"{folder / name} is damaged: its sha256 is not the manifest's")
            _check_values(folder, step, json.loads((folder / _VALUES).read_text(encoding="utf-8")), self._run())
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{folder} is not a whole checkpoint: {error}") from error
        self._sound.add(step)

    def newest_valid(self) -> tuple[int | None, list[str]]:
        """Return the newest step whose checkpoint is whole, or None, and what is wrong with those passed over."""
        damage: list[str] = []
        for step in reversed(self.steps()):
            try:
                self.verify(step)
                return step, damage
            except RunError as error:
                damage.append(str(error))
        return None, damage

    def reasons(self, keep: Keep) -> dict[int, tuple[str, ...]]:
        """Return why each checkpoint stays, by step; nothing keeps those that are damaged."""
        good = [step for step in self.steps() if step in self._sound or self._is_whole(step)]
        scores = {step: score for step in good if (score := self.heldout(step)) is not None}
        return {**dict.fromkeys(self.steps(), ()), **keep.reasons(good, scores)}

    def heldout(self, step: int) -> float | None:
        """Return the held-out loss of a good checkpoint's model in bits a byte; None when it was not measured."""
        if step not in self._scores:
            try:
                score = json.loads((self.path(step) / _VALUES).read_text(encoding="utf-8")).get("heldout")
            except FileNotFoundError:
                return None  # a running run has just dropped it
            self._scores[step] = score if isinstance(score, float) else None
        return self._scores[step]

    def best(self) -> float | None:
        """Return the lowest held-out loss of the good checkpoints; None when none was measured."""
        good = [step for step in self.steps() if step in self._sound or self._is_whole(step)]
        return min((score for step in good if (score := self.heldout(step)) is not None), default=None)

    def size(self, step: int) -> int:
        """Return how many bytes a checkpoint takes."""
        path = self.path(step)
        try:
            files = list(path.iterdir()) if path.is_dir() else [path]
            return sum(file.stat().st_size for file in files)
        except FileNotFoundError:
            return 0  # a running run has just dropped it

    def _run(self) -> str | None:
        """Return the digest of the run's scenario, None outside of a run's folder."""
        try:
            facts = json.loads((self.folder.parent / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None  # what is wrong with the file is said by who reads it for its own sake
        return facts.get("digest") if isinstance(facts, dict) else None

    def _prune(self, keep: Keep) -> None:
        """Drop what nothing keeps; damaged ones go when they are older than the newest that stay."""
        reasons = self.reasons(keep)
        recent = [step for step, why in reasons.items() if "recent" in why]
        full = len(recent) >= keep.last
        for step, why in reasons.items():
            if not why and step != keep.first and full and step < recent[0]:
                self._remove(step)

    def _is_whole(self, step: int) -> bool:
        try:
            self.verify(step)
        except RunError:
            return False
        return True

    def _remove(self, step: int) -> None:
        self._sound.discard(step)
        self._scores.pop(step, None)
        remove(self.path(step))


def _check_values(folder: Path, step: int, data: Any, run: str | None) -> None:
    """Refuse the plain values of another step, another version of andrea, or another run."""
    if not isinstance(data, dict) or not isinstance(data.get("values"), dict) or data.get("step") != step:
        raise RunError(f"{folder / _VALUES} is damaged: it does not hold the values of step {step}")
    if data.get("format") != _FORMAT:
        raise RunError(
            f"{folder} was written by another version of andrea (format {data.get('format')}, not {_FORMAT}); "
            "go on with that version, or start the run anew with `andrea run`"
        )
    if run is not None and data.get("run", run) != run:
        raise RunError(
            f"{folder} is of another run, of a scenario with the digest {str(data['run'])[:12]}; take it away"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

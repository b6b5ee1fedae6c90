"""Checkpoints: tensors as safetensors, everything else as JSON, a manifest of digests; no pickle anywhere."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from safetensors.numpy import load_file as load_arrays, save_file as save_arrays

from andrea_core.errors import RunError
from andrea_core.runs.files import whole_folder

if TYPE_CHECKING:
    from torch import Tensor

_FORMAT = 1


@attrs.frozen(eq=False)
class Checkpoint:
    """What a run is made of at one step: tensors by name, arrays by path, and plain values."""

    step: int
    model: Mapping[str, "Tensor"]
    optimizer: Mapping[str, "Tensor"]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    values: Mapping[str, Any]


class CheckpointFolder:
    """The checkpoints of one run, newest last."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, step: int) -> Path:
        """Return where the checkpoint of a step lies."""
        return self.folder / f"step_{step:07d}"

    def steps(self) -> list[int]:
        """Return the steps that have a checkpoint, valid or not, ascending."""
        names = [path.name for path in self.folder.glob("step_*")]
        return sorted(int(name[5:]) for name in names if name[5:].isdigit())

    def save(self, checkpoint: Checkpoint, keep: int) -> Path:
        """Write a checkpoint whole or not at all, then drop all but the newest `keep` (checkpoint 0 stays)."""
        from safetensors.torch import save_file as save_tensors

        target = self.path(checkpoint.step)
        shutil.rmtree(target, ignore_errors=True)
        with whole_folder(target) as aside:
            save_tensors(dict(checkpoint.model), aside / "model.safetensors")
            save_tensors(dict(checkpoint.optimizer), aside / "optimizer.safetensors")
            save_arrays(dict(checkpoint.arrays), aside / "state.safetensors")
            values = {"format": _FORMAT, "step": checkpoint.step, "values": checkpoint.values}
            (aside / "state.json").write_text(json.dumps(values, indent=1), encoding="utf-8")
            digests = {file.name: _sha256(file) for file in sorted(aside.iterdir())}
            (aside / "manifest.json").write_text(json.dumps(digests, indent=1), encoding="utf-8")
        for step in self.steps()[:-keep]:
            if step:
                shutil.rmtree(self.path(step), ignore_errors=True)
        return target

    def load(self, step: int) -> Checkpoint:
        """Read a checkpoint; raises RunError, naming the file, when it is damaged."""
        from safetensors.torch import load_file as load_tensors

        folder = self.path(step)
        self.verify(step)
        data = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            raise RunError(f"{folder}: written by another version of andrea (format {data['format']}, not {_FORMAT})")
        return Checkpoint(
            step=data["step"],
            model=load_tensors(folder / "model.safetensors"),
            optimizer=load_tensors(folder / "optimizer.safetensors"),
            arrays=load_arrays(folder / "state.safetensors"),
            values=data["values"],
        )

    def verify(self, step: int) -> None:
        """Check every file against the manifest; raises RunError, naming the file, when one is damaged."""
        folder = self.path(step)
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            for name, digest in manifest.items():
                if _sha256(folder / name) != digest:
                    raise RunError(f"{folder / name} is damaged: its sha256 is not the manifest's")
        except (OSError, ValueError) as error:
            raise RunError(f"{folder} is not a whole checkpoint: {error}") from error

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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

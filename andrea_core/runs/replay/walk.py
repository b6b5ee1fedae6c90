"""A replayed walk beside the recorded one, phase by phase: distance, entropy, effective sources; as zarr or CSV."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import zarr

from andrea_core.errors import RunError
from andrea_core.runs.files import disk_errors, remove
from andrea_core.runs.replay.director import Replayed
from andrea_core.runs.replay.recorded import Recorded
from andrea_core.values import Integers, Vector

MARK = "replay_of"
"""The attribute by which a folder is known to be a replay's, and may be written over."""

_HEAD = ["phase", "stage", "policy", "start", "steps", "distance"]
"""How the first line of a replay's table begins."""


@attrs.frozen(eq=False)
class Walk:
    """Two walks over the same phases: `weights` (phases, K) replayed, `recorded` (phases, K).

    `start` and `steps` (phases,) are the recorded ones; `policies` names who acted in the replay. Means over phases
    count each phase by its steps.
    """

    sources: tuple[str, ...]
    start: Integers
    steps: Integers
    stages: tuple[str, ...]
    policies: tuple[str, ...]
    requested: Vector
    weights: Vector
    recorded: Vector

    @classmethod
    def of(cls, recorded: Recorded, phases: Iterable[Replayed]) -> "Walk":
        """Gather a replay."""
        found = list(phases)
        numbers = [phase.phase for phase in found]  # of a fork only its own
        return cls(
            sources=recorded.sources.names,
            start=recorded.phases["start"][numbers],
            steps=recorded.phases["steps"][numbers],
            stages=tuple(phase.stage for phase in found),
            policies=tuple(phase.policy for phase in found),
            requested=np.stack([phase.arrays["requested"] for phase in found]),
            weights=np.stack([phase.arrays["weights"] for phase in found]),
            recorded=recorded.phases["weights"][numbers],
        )

    @property
    def distance(self) -> Vector:
        """(phases,) total variation between the two: the share of the mass that stands elsewhere, 0 to 1."""
        return np.asarray(np.abs(self.weights - self.recorded).sum(1) / 2)

    def mean(self, rows: Vector) -> Any:
        """Return the mean over phases, by steps, of a number (phases,) or a vector (phases, K) a phase."""
        return np.average(rows, axis=0, weights=self.steps)

    def save(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Write the walks to a .csv file or a .zarr folder, with what `facts` say as attributes of the latter.

        Raises RunError for another suffix, and when something else stands there.
        """
        refuse_place(path)
        with disk_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            (self._csv if path.suffix == ".csv" else self._zarr)(path, facts)

    def _columns(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "steps": self.steps,
            "distance": self.distance,
            "entropy": entropy(self.weights),
            "entropy_recorded": entropy(self.recorded),
            "effective": effective(self.weights),
            "effective_recorded": effective(self.recorded),
        }

    def _csv(self, path: Path, _facts: Mapping[str, Any]) -> None:
        columns = {"phase": range(len(self.start)), "stage": self.stages, "policy": self.policies}
        columns |= {name: column.tolist() for name, column in self._columns().items()}
        for kind, array in (("weight", self.weights), ("recorded", self.recorded)):
            columns |= {f"{kind} {name}": array[:, k].tolist() for k, name in enumerate(self.sources)}
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def _zarr(self, path: Path, facts: Mapping[str, Any]) -> None:
        remove(path)
        group = zarr.open_group(path, mode="w-")
        group.attrs.update({**facts, "sources": list(self.sources)})
        walks = {"requested": self.requested, "weights": self.weights, "recorded": self.recorded}
        for name, array in {**self._columns(), **walks}.items():
            group.create_array(name, data=np.ascontiguousarray(array))
        for name, words in (("stage", self.stages), ("policy", self.policies)):
            names = list(dict.fromkeys(words))
            coded = group.create_array(name, data=np.array([names.index(word) for word in words], np.int32))
            coded.attrs["names"] = names


def entropy(weights: Vector) -> Vector:
    """Return the entropy in nats of each row of weights (phases, K); 0 for a corner, ln K for the centre."""
    return np.asarray(-np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0).sum(1) + 0.0)


def effective(weights: Vector) -> Vector:
    """Return 1 / sum w^2 of each row of weights (phases, K): as many equal weights have the same sum of squares."""
    return np.asarray(1 / (weights**2).sum(1))


def refuse_place(path: Path) -> None:
    """Raise RunError for a place that cannot hold walks: of another suffix, or with something else than a replay."""
    known = {".csv": _is_table, ".zarr": _is_folder}.get(path.suffix)
    if known is None:
        raise RunError(f"--out {path}: name a file that ends in .csv, or a folder that ends in .zarr")
    if (path.exists() or path.is_symlink()) and not known(path):
        raise RunError(f"--out {path}: something else than a replay stands there; name another file or folder")


def _is_folder(path: Path) -> bool:
    try:
        return MARK in zarr.open_group(path, mode="r").attrs
    except Exception:  # whatever zarr says of a folder that is none of its own
        return False


def _is_table(path: Path) -> bool:
    """Return whether a file is empty, or begins as a replay's table does."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file), _HEAD)[: len(_HEAD)] == _HEAD
    except (OSError, ValueError, csv.Error):
        return False

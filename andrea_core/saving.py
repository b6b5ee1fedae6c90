"""A run to a checkpoint and back: copied while the loop waits a moment, written to disk while it goes on."""

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.errors import RunError
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.files import disk_errors, write_text
from andrea_core.runs.folder import SAVES, RunFolder
from andrea_core.runs.keeping import Keep
from andrea_core.runs.tree import Arrays, flatten, restore as restore_tree
from andrea_core.runs.writer import Writer

if TYPE_CHECKING:
    import torch

    from andrea_core.model.trainer import Trainer
    from andrea_core.phase import State
    from andrea_core.runs.recorder import Batch, Recorder
    from andrea_core.scenario import RunSettings
    from andrea_core.values import Findings

MILDER = "lower optimizer.lr, or set optimizer.clip, and start anew"
"""What helps against a model that diverges."""

HELDOUT, LOSS = "eval", "bits_per_byte"
"""The group of a probe that measures held-out loss, and the name of its measurement (K,)."""


@attrs.frozen
class Times:
    """The seconds for which a save made the loop wait, and those until its checkpoint was on disk."""

    waited: float
    seconds: float


@attrs.define(eq=False)
class Saver:
    """Writes checkpoints beside the loop, one at a time.

    A save copies the tensors and takes the recorder's rows while the loop waits; the writer's thread then writes the
    record, the checkpoint after it, and drops what is not kept. A checkpoint is never there before the rows it counts
    on. An error of the thread is raised by the next save, `check` or `wait`. A model whose weights are not finite is
    not written: nothing could go on from it, and in its place a good one might go.
    """

    folder: RunFolder
    recorder: "Recorder"
    writer: Writer
    keep: Keep
    heldout: tuple[int, float] | None = None
    """The step and the mean of the last measurement of held-out loss."""
    best: float = math.inf
    """The lowest mean held-out loss that a checkpoint has."""
    diverged: int | None = None
    """The last step whose checkpoint was left out because its weights are not finite."""
    left_out: int | None = None
    """The last step that was to be saved and was not, because a loss of its phase is not finite."""
    _last: "tuple[int, State] | None" = None
    _buffers: dict[str, "torch.Tensor"] = attrs.field(factory=dict)
    _times: dict[int, Times] = attrs.field(factory=dict)

    def save(self, state: "State", trainer: "Trainer") -> None:
        """Begin to write the checkpoint of the present step; waits for the one before."""
        began = time.perf_counter()
        self.writer.wait()
        model, optimizer, extra = trainer.state()
        arrays: Arrays = {}
        values = {"state": flatten(state, "state", arrays), "trainer": flatten(extra, "trainer", arrays)}
        checkpoint = Checkpoint(
            step=trainer.steps_done,
            model=self._copied("model", model),
            optimizer=self._copied("optimizer", optimizer),
            arrays={name: array.copy() for name, array in arrays.items()},
            values=values,
            heldout=self._score(trainer.steps_done),
        )
        batch = self.recorder.take()
        waited = time.perf_counter() - began
        self._took(checkpoint.step, state, checkpoint.heldout)
        self.writer.start(lambda: self._write(checkpoint, batch, waited))

    def measured(self, step: int, findings: "Findings", groups: Mapping[str, str]) -> None:
        """Take what probes found; the mean held-out loss is kept with the checkpoint of this step."""
        for name, found in findings.measured.items():
            if groups[name] == HELDOUT and LOSS in found:
                bits = np.asarray(found[LOSS].value, np.float64)
                known = bits[np.isfinite(bits)]
                self.heldout = (step, float(known.mean())) if known.size else None

    def improved(self, step: int) -> bool:
        """Whether the model of this step was just found to be the best so far, and the best is to be kept."""
        score = self._score(step)
        return self.keep.best and score is not None and score < self.best

    def has(self, step: int, state: "State") -> bool:
        """Whether the last checkpoint, written or on its way, is of this step and state."""
        return self._last is not None and self._last[0] == step and self._last[1] is state

    def refuse_diverged(self, step: int) -> None:
        """Raise RunError when the checkpoint of a step, which is written by now, was left out."""
        if self.diverged == step:
            when = f"after step {step}" if step else "before the first step"
            raise RunError(f"the weights {when} are not finite: the model has diverged; {self.last_good()}; {MILDER}")

    def last_good(self) -> str:
        """Return in words which checkpoint is the newest whose model is whole and finite."""
        checkpoints = self.folder.checkpoints
        for step in reversed(checkpoints.steps()):
            with suppress(RunError):
                if finite(checkpoints.load(step)):
                    return f"the checkpoint of step {step} is good"
        return "no checkpoint is good"

    def best_there(self) -> float | None:
        """Return the lowest mean held-out loss that a checkpoint on disk has; None when the best one is not kept."""
        return self.folder.checkpoints.best() if self.keep.best else None

    def resumed(self, step: int, state: "State", best: float | None) -> None:
        """Say that the run goes on from the checkpoint of a step; `best` is what was there."""
        self._took(step, state, best)

    def _took(self, step: int, state: "State", score: float | None) -> None:
        self._last = (step, state)
        self.best = self.best if score is None else min(self.best, score)

    def _score(self, step: int) -> float | None:
        return self.heldout[1] if self.heldout is not None and self.heldout[0] == step else None

    def _copied(self, part: str, tensors: "dict[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
        """Return copies on the host, in buffers that serve every save."""
        import torch

        copies = {}
        for name, tensor in tensors.items():
            key = f"{part}/{name}"
            if key not in self._buffers:
                self._buffers[key] = torch.empty(tensor.shape, dtype=tensor.dtype)
            copies[name] = self._buffers[key].copy_(tensor)
        return copies

    def _write(self, checkpoint: Checkpoint, batch: "Batch", waited: float) -> None:
        began = time.perf_counter()
        self.recorder.write(batch)
        if not finite(checkpoint):
            self.diverged = checkpoint.step
            return
        arrays = dict(checkpoint.arrays)
        values = {**checkpoint.values, "recorder": flatten(self.recorder.state(batch), "recorder", arrays)}
        checkpoint = attrs.evolve(checkpoint, arrays=arrays, values=values)
        with disk_errors(f"the checkpoint of step {checkpoint.step} in {self.folder.checkpoints.folder}"):
            self.folder.checkpoints.save(checkpoint, self.keep)
        self._times[checkpoint.step] = Times(round(waited, 6), round(time.perf_counter() - began, 6))
        self._note()

    def _note(self) -> None:
        """Write down how long each checkpoint that is still there took, for `andrea show`."""
        there = set(self.folder.checkpoints.steps())
        known = {**read_saves(self.folder.path), **self._times}
        plain = {step: attrs.asdict(times) for step, times in known.items() if step in there}
        write_text(self.folder.path / SAVES, json.dumps(plain, indent=1))


def finite(checkpoint: Checkpoint) -> bool:
    """Return whether all weights of a checkpoint are numbers: they may not be though the last loss was one."""
    return all(bool(tensor.isfinite().all()) for tensor in checkpoint.model.values())


def read_saves(folder: Path) -> dict[int, Times]:
    """Return what each checkpoint of a run took, by step; nothing for those of which it is not known."""
    try:
        found = json.loads((folder / SAVES).read_text(encoding="utf-8"))
        return {int(step): Times(float(one["waited"]), float(one["seconds"])) for step, one in found.items()}
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return {}


def keep_of(settings: "RunSettings", first: int = 0) -> Keep:
    """Return which checkpoints the settings keep; `first` is the step at which the run begins."""
    every = None if settings.keep_every is None else settings.keep_every * settings.checkpoint_every
    return Keep(settings.keep_checkpoints, every, settings.keep_best, first)


def restore(folder: CheckpointFolder, step: int, start: "State", trainer: "Trainer", recorder: "Recorder") -> "State":
    """Bring trainer and record back to a checkpoint and return the state of its phase's border.

    `start`, the state before the first phase, says which classes the state is made of.
    """
    checkpoint = folder.load(step)
    lacking = {"state", "trainer", "recorder"} - checkpoint.values.keys()
    if lacking:
        raise RunError(f"{folder.path(step)} lacks {', '.join(sorted(lacking))}; it was written by another program")
    trainer.load(checkpoint.model, checkpoint.optimizer, tree(checkpoint, "trainer", {}))
    recorder.restore(tree(checkpoint, "recorder", {}))
    state: State = tree(checkpoint, "state", start)
    return state


def tree(checkpoint: Checkpoint, name: str, template: Any) -> Any:
    """Return one of the values of a checkpoint; `template` supplies the classes."""
    return restore_tree(checkpoint.values[name], checkpoint.arrays, template)

"""The phases of a recorded run, rebuilt to the bit: what each showed, and what the sampler was left with."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from andrea_core.data.sampler import SamplerState
from andrea_core.errors import RunError
from andrea_core.runs.replay.whole import check_record, older
from andrea_core.runs.soundness import RESTORE
from andrea_core.runs.store import Run
from andrea_core.values import Gradients, Integers, Observation, Sources, Vector

_PROVIDED = {
    "heldout": ("heldout",),
    "probed": ("probed",),
    "source_gradients": ("gradients_train", "gradients_heldout"),
}


@attrs.frozen(eq=False)
class Recorded:
    """The finished phases of a run: `len` counts them, their steps are the first `phases["steps"].sum()`.

    `loss`, `source` and `loss_after` (None unless it was needed) are (steps, rows), `phases` the record's arrays with a
    row a phase.
    """

    run: Run
    sources: Sources
    context: int
    phases: Mapping[str, Any]
    loss: Vector
    source: Integers
    loss_after: Vector | None
    shorter: tuple[str, ...] = ()
    """Sentences on what ends early, so that less is replayed than some arrays hold."""

    @classmethod
    def of(cls, run: Run) -> "Recorded":
        """Read a run; raises RunError when its record does not hold the rows of its batches, or no finished phase."""
        shorter = check_record(run)
        steps, phases = run.steps, run.phases
        if not phases.rows or not steps.rows:
            raise RunError(f"{run.folder}: no phase of this run is finished yet, so there is nothing to replay")
        ends = phases["start"] + phases["steps"]
        count = int(np.searchsorted(ends, steps.rows, side="right"))  # a killed process may leave fewer steps
        loss = steps["row_loss"]
        if np.isnan(loss).any():
            upto = int(np.flatnonzero(np.isnan(loss).any(axis=1))[-1]) + 1
            raise RunError(older(run, f"the losses of single rows of its first {upto} steps"))
        return cls(
            run=run,
            sources=Sources(tuple(run.sources), np.array(run.attributes["epoch_tokens"], np.int64)),
            context=int(run.attributes["context"]),
            phases={name: phases[name][:count] for name in phases},
            loss=loss,
            source=steps["row_source"],
            loss_after=steps["row_loss_after"] if steps.has("row_loss_after") else None,
            shorter=tuple(shorter),
        )

    def __len__(self) -> int:
        return len(self.phases["start"])

    @property
    def provides(self) -> frozenset[str]:
        """Which of what policies and rewards may need the record holds."""
        found = {need for need, names in _PROVIDED.items() if all(name in self.phases for name in names)}
        return frozenset(found if self.loss_after is None else found | {"loss_after"})

    def observation(self, phase: int) -> Observation:
        """Return what a phase showed, as the policy and the reward saw it. Raises RunError for a damaged record."""
        start, steps = int(self.phases["start"][phase]), int(self.phases["steps"][phase])
        source = self.source[start : start + steps].astype(np.int64)
        seen = Observation(
            loss=self.loss[start : start + steps].astype(np.float64),
            tokens=np.full(source.shape, self.context, np.int64),
            source=source,
            weights=self.phases["weights"][phase],
            step=start + steps,
            heldout=self._of("heldout", phase),
            loss_after=None if self.loss_after is None else self.loss_after[start : start + steps].astype(np.float64),
            gradients=self._gradients(phase),
            probed=self._of("probed", phase),
        )
        if source.size == 0 or not np.array_equal(seen.tokens_by_source(), self.phases["trained"][phase]):
            raise RunError(
                f"{self.run.folder}: the record is damaged: phase {phase} did not train the tokens that its rows have; "
                f"{RESTORE}"
            )
        return seen

    def left(self, phase: int) -> SamplerState:
        """Return the sampler's state after a phase."""
        position = self.phases["drawn"][: phase + 1].sum(0).astype(np.int64)
        return SamplerState(position, self.phases["owed"][phase], self.phases["upper"][phase] > 0)

    def before(self, phase: int, sampler: SamplerState) -> SamplerState:
        """Return a sampler's state before a phase: without the rows that rewinds passed over up to there."""
        passed = self._of("passed_over", phase)
        if passed is None:
            return sampler
        drawn = self.phases["drawn"][:phase].sum(0)
        return attrs.evolve(sampler, position=(drawn + passed).astype(np.int64))

    def decoded(self, array: str) -> Sequence[str]:
        """Return the names that an array of integers, `stage` or `policy`, stands for, one a phase."""
        return self.run.phases.decoded(array)[: len(self)]

    def _gradients(self, phase: int) -> Gradients | None:
        train, heldout = (self._of(name, phase) for name in _PROVIDED["source_gradients"])
        return None if train is None or heldout is None else Gradients(train, heldout)

    def _of(self, name: str, phase: int) -> Vector | None:
        return self.phases[name][phase] if name in self.phases else None

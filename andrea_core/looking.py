"""Lets probes look at the model when their time has come, and gathers what they found and what it cost."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.contracts import Watching
from andrea_core.findings import checked
from andrea_core.guard import Blame, blaming, pair
from andrea_core.phase import Director, Phase, State
from andrea_core.plan import probe_groups, probe_names
from andrea_core.rng import generator
from andrea_core.scenario import ProbeSlot, Scenario
from andrea_core.values import Findings, Gradients, Integers, Measurement, Observation, Outcome, Vector
from andrea_core.watching import for_each_source, with_missing

if TYPE_CHECKING:
    from andrea_core.model.gradients import GradientMeter
    from andrea_core.model.trained import Trained
    from andrea_core.model.trainer import Trainer
    from andrea_core.model.view import ModelView


HELDOUT_TOKENS = 2048
"""Held-out tokens a source that a policy or reward which needs them sees after each phase."""


def needs_of(scenario: Scenario) -> frozenset[str]:
    """Return what the policy and the reward of a scenario ask to have measured."""
    return frozenset(scenario.policy.component.needs) | frozenset(scenario.reward.needs)


@attrs.frozen(eq=False)
class Shown:
    """What is known of a phase when the probes look after it: its rows, what was learned, which probes have looked."""

    seen: Observation | None = None
    outcome: Outcome | None = None
    earlier: Findings | None = None


NOTHING_SHOWN = Shown()


@attrs.frozen(eq=False)
class Looker:
    """The probes of a run, and what its policy and reward need measured after each phase.

    `view` makes the read-only view of the model at a step, after a stage and an outcome; `meter` is there when source
    gradients are needed.
    Whatever a probe does to model, optimiser and generators is undone, and said to be a fault of the probe.
    """

    director: Director
    view: Callable[[int, str, Outcome | None], "ModelView"]
    trainer: "Trainer"
    meter: "GradientMeter | None" = None

    def heldout_loss(self) -> Vector | None:
        """Return the (K,) held-out losses in nats a token, always on the same windows; None if nobody needs them."""
        if "heldout" not in needs_of(self.director.scenario):
            return None
        view, sources = self.view(0, "", None), range(len(self.director.sources))
        return self.trainer.ranks.share(lambda: np.array([_mean(view, index) for index in sources]))

    def gradients(self, state: State, phase: Phase) -> Gradients | None:
        """Return the inner products of the active sources' gradients at a phase's end; None if nobody needs them."""
        meter = self.meter
        if meter is None:
            return None
        return self.trainer.ranks.share(lambda: meter.measure(phase.region.upper > 0, state.phase))

    def watched(
        self, state: State, phase: Phase, total: int, seen: Observation
    ) -> tuple[State, Findings, Vector | None]:
        """Return what the probe that the reward watches found at the end of a phase, before the reward scores it.

        Besides the findings: the state with the probe's, and the numbers (K,), NaN where it was not due; None where no
        probe is watched.
        """
        wanted = self.director.scenario.reward
        if not isinstance(wanted, Watching):
            return state, Findings({}), None
        (name, measurement), there = wanted.watches, ended(state, phase)
        index = probe_names(self.director.scenario, self.director.catalogue).index(name)
        slot = self.director.scenario.probes[index]
        if not due(slot, there.step, phase, total):
            return state, Findings({}), np.full(len(self.director.sources), np.nan)
        kept = [state.probes[index]]

        def looked() -> Findings:
            view = self.view(there.step, there.stage, None).after(self._trained(phase, seen))
            findings, kept[0] = self.measured(index, there, view)
            return findings

        findings = self.trainer.ranks.share(looked)
        probes = (*state.probes[:index], kept[0], *state.probes[index + 1 :])
        found = with_missing(findings.measured[name], slot.component)
        numbers_ = for_each_source(found, (name, measurement), len(self.director.sources))
        return attrs.evolve(state, probes=probes), findings, numbers_

    def look(
        self, state: State, phase: Phase | None, total: int, shown: Shown = NOTHING_SHOWN, *, pivot: bool = False
    ) -> tuple[Findings, tuple[Any, ...]]:
        """Return what the probes that are due found at a phase border, and all probes' states.

        At a `pivot`, where the curriculum has just ended a stage before its last step, only those look that wait for
        the border of a stage and have not looked yet. Those of the earlier findings have looked already.
        """
        states = [state.probes]

        def looked() -> Findings:
            findings, states[0] = self._looked(state, phase, total, shown, pivot)
            return findings

        return self.trainer.ranks.share(looked), states[0]

    def _looked(
        self, state: State, phase: Phase | None, total: int, shown: Shown, pivot: bool
    ) -> tuple[Findings, tuple[Any, ...]]:
        findings, states = shown.earlier or Findings({}), list(state.probes)
        for index, slot in enumerate(self.director.scenario.probes):
            looks = due(slot, state.step, phase, total)
            wanted = looks != pivot and (looks or slot.times.at_stage_borders)
            if wanted and self._name(index) not in findings.measured:
                view = self.view(state.step, state.stage, shown.outcome).after(self._trained(phase, shown.seen))
                found, states[index] = self.measured(index, state, view)
                findings = findings.joined(found)
        return findings, tuple(states)

    def _trained(self, phase: Phase | None, seen: Observation | None) -> "Trained | None":
        """Return the rows of the phase just finished, as probes see them."""
        if phase is None or seen is None:
            return None
        from andrea_core.model.trained import Trained

        plan, start = phase.plan, seen.step - phase.steps
        loss, row = seen.loss / seen.tokens, self.director.sampler.row
        return Trained(start, loss, _fixed(plan.source), _fixed(plan.position), row)

    def measured(self, index: int, state: State, view: "ModelView") -> tuple[Findings, Any]:
        """Return what the probe of an index finds in a view after a state's steps, due or not, and its next state."""
        began, name = time.perf_counter(), self._name(index)
        component = self.director.scenario.probes[index].component
        rng = generator(self.director.scenario.seed, "probe", name, state.step)
        blame = self.director.blame("probes", component, state, state.stage)
        with self._untouched(blame), blaming(blame):
            answer = component.measure(state.probes[index], view, rng)
        found, after = pair(answer, "measurements and a state", blame)
        measured = {name: checked(found, len(self.director.sources), blame)}
        cost = attrs.evolve(view.cost, seconds=time.perf_counter() - began)
        return Findings(measured, _stop(measured), {name: cost}), after

    def groups(self) -> dict[str, str]:
        """Return where in the record each probe's measurements go, by the probe's name."""
        return probe_groups(self.director.scenario, self.director.catalogue)

    @contextmanager
    def _untouched(self, blame: Blame) -> Iterator[None]:
        """Undo what a block did to the model and all that trains it; raise PluginError when there was something."""
        from andrea_core.model.optimiser import moments
        from andrea_core.model.untouched import untouched, untouched_settings

        trainer, told = self.trainer, list[str]()
        parted = trainer.held.parted  # then the view is of a copy, and no probe comes near the optimiser
        kept = (lambda: {}) if parted else (lambda: moments(trainer.model, trainer.optimizer))
        with untouched_settings(), untouched(trainer.held.viewed, kept, trainer.device, told):
            yield
        if told:
            more = f" and {len(told) - 1} more" if len(told) > 1 else ""
            raise blame.fault(f"changed {told[0]}{more}, which a probe must not; it was put back")

    def _name(self, index: int) -> str:
        """Return a probe's name in the record."""
        return probe_names(self.director.scenario, self.director.catalogue)[index]


def due(slot: ProbeSlot, step: int, phase: Phase | None, total: int) -> bool:
    """Return whether a probe looks at this border: the start, a stage's end, the end, or a time of its own.

    Without a phase it is the start, or, at a later step, the end of a run that was stopped early.
    """
    times = slot.times
    if phase is None:
        return times.at_end if step else times.at_start
    if step == total and (times.at_end or times.at_stage_borders):
        return True
    if step == phase.stage.until and times.at_stage_borders:
        return True
    return times.passed(step - phase.steps, step)


def ended(state: State, phase: Phase) -> State:
    """Return where a run stands for a probe that looks before anything has learned from a phase."""
    return attrs.evolve(state, step=state.step + phase.steps, stage=phase.stage.name)


def _fixed(array: Integers) -> Integers:
    """Return an array that is the same memory and cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def _stop(measured: Mapping[str, Mapping[str, Measurement]]) -> str | None:
    for name, found in measured.items():
        if "stop" in found:
            return f"{name}: {found['stop'].value}"
    return None


def _mean(view: "ModelView", index: int) -> float:
    windows = view.heldout(index, HELDOUT_TOKENS)
    tokens = windows.shape[0] * (windows.shape[1] - 1)
    return float(view.row_losses(windows).sum() / tokens) if tokens else float("nan")

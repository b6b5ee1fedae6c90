"""The loop, one page: decide a phase, train it, learn from it, look at the model, record, save."""

import attrs
import numpy as np

from andrea_core.errors import RunError
from andrea_core.looking import NOTHING_SHOWN, Looker, Shown
from andrea_core.model.pace import Pace
from andrea_core.model.spikes import spike_text
from andrea_core.model.trainer import PhaseLosses, Trainer
from andrea_core.phase import Director, Phase, State
from andrea_core.pivots import Pivots
from andrea_core.progress import Progress
from andrea_core.record import Record
from andrea_core.rewinding import went_back
from andrea_core.runs.folder import RunFolder
from andrea_core.runs.tree import prove
from andrea_core.saving import MILDER, Saver, restore
from andrea_core.stopping import signals
from andrea_core.stopwatch import Stopwatch
from andrea_core.together import decision
from andrea_core.values import Findings, Gradients, Observation, Vector


class Interrupted(Exception):  # noqa: N818 - not an error: the user asked for it
    """The run was asked to stop and has written a checkpoint."""

    def __init__(self, step: int, signal_number: int):
        super().__init__(f"stopped at step {step}")
        self.step, self.signal = step, signal_number


@attrs.define(eq=False)
class Experiment:
    """A run in progress: the parts it is made of, and the state that moves."""

    folder: RunFolder
    director: Director
    trainer: Trainer
    looker: Looker
    record: Record
    progress: Progress
    saver: Saver
    pivots: Pivots
    state: State
    begun: bool = False
    """Whether the state is not that of step 0 but one that another run left: a fork begins there."""
    watch: Stopwatch = attrs.field(factory=Stopwatch)
    _asked: int = 0

    @property
    def total(self) -> int:
        """Number of steps of the whole run."""
        return self.director.scenario.run.steps

    def run(self, resume_at: int | None = None) -> Findings:
        """Train to the end, from the beginning or from a checkpoint; return the last findings.

        A probe's wish to stop ends the run early, with its reason in the findings. Raises Interrupted after SIGINT,
        SIGTERM or SIGHUP, with a checkpoint written; PluginError and RunError leave the last checkpoint good.
        """
        with signals(self.ask_to_stop, self.trainer.ranks.size), self.saver.writer:
            if resume_at is None:
                findings = Findings({}) if self.begun else self._look(None)
                self._save()
                self.saver.writer.wait()  # from the first step on there is something to go on with
                self.trainer.ranks.share(lambda: self.saver.refuse_diverged(self.state.step))
            else:
                folder, recorder = self.folder.checkpoints, self.record.recorder
                self.state = restore(folder, resume_at, self.state, self.trainer, recorder)
                best = self.trainer.ranks.share(self.saver.best_there)
                self.saver.resumed(resume_at, self.state, best)
                findings = Findings({})
            while self.state.step < self.total and findings.stop is None:
                findings = self._phase()
            if self.state.step < self.total:
                self._look(None)  # stopped early: what is to be measured at the end is measured here
            self._save()
            self.record.close()
            self.trainer.ranks.share(lambda: self.saver.refuse_diverged(self.state.step))
        return findings

    def _phase(self) -> Findings:
        """Decide a phase, train it, finish it; return what the probes found at its end."""
        with self.watch.on("policy"):
            phase = self.decided()
            self.trainer.ranks.agree(f"phase {self.state.phase}", lambda: decision(self.state, phase))
        self.progress.phase_began(phase.stage.name, self.state.phase, phase.policy, phase.landed.weights)
        self._train(phase)
        return Findings({}) if self._went_back(phase) else self.finish(phase)

    def _went_back(self, phase: Phase) -> bool:
        """Whether a spike undid the phase: it is then decided again, on other rows."""
        back = went_back(self.state, phase, self.trainer, lambda offset: self._rows(phase, offset))
        if back is not None:
            self.state, text = back
            self.record.event(self.state.step, "rewind", text)
        return back is not None

    def finish(self, phase: Phase) -> Findings:
        """Learn from a phase that is trained, look at the model, write it down."""
        with self.watch.on("model"):
            losses = self.trainer.collect()
        self._refuse_divergence(phase, losses)
        with self.watch.on("probes"):
            self.trainer.held.refresh()
            heldout, gradients = self.looker.heldout_loss(), self.looker.gradients(self.state, phase)
            observation = self._observation(phase, losses, heldout, gradients)
            self.state, earlier, probed = self.looker.watched(self.state, phase, self.total, observation)
            observation = attrs.evolve(observation, probed=probed)
        with self.watch.on("policy"):
            before, (self.state, outcome, odd) = self.state, self.director.learn(self.state, phase, observation)
        self.trainer.clear()
        shown = Shown(observation, outcome, earlier)
        findings = self._look(phase, shown)
        self.state = self.director.advance(self.state, outcome, findings)
        if self.state.step < self.total and self.director.pivots(self.state, phase):
            findings = findings.joined(self._look(phase, attrs.evolve(shown, earlier=None), pivot=True))
        if self.state.phase == 1:  # a state that cannot be kept shows before anything is lost
            prove(self.state, self.director.start(), "state")
        with self.watch.on("recording"):
            self._note_spikes(before.step, phase, losses)
            self.record.phase(before, self.state, phase, losses, outcome, [*phase.events, *odd], self.watch)
            self.progress.phase_done(self.record.report(before, self.state, phase, losses, self.total))
        self.saver.writer.check()
        if self.saver.improved(self.state.step):
            self._save()
        return findings

    def decided(self) -> Phase:
        """Decide a phase under the constraints in force, or decide the one again whose middle a resume starts from."""
        if not self.trainer.phase_steps and not self.trainer.rewinds:
            self.trainer.ranks.share(lambda: self.pivots.at_border(self.director, self.state))
        self.director = self.pivots.director(self.director, self.state.step)
        phase = self.director.decide(self.state)
        return attrs.evolve(phase, events=(*self.pivots.events(self.state.step), *phase.events))

    def _train(self, phase: Phase) -> None:
        """Take the steps of a phase that are not taken yet, saving whenever it is time."""
        scenario, stage = self.director.scenario, phase.stage
        self.trainer.pace = Pace.of(scenario.optimizer, self.total, (stage.start, stage.until), stage.optimizer)
        factors = np.array([scenario.objective.get(name, 1.0) for name in self.director.sources.names], np.float32)
        if not self.trainer.phase_steps:  # otherwise a checkpoint inside this phase was restored
            self.trainer.begin(phase.steps)
        for offset in range(self.trainer.phase_steps, phase.steps):
            self._save_if_due()
            with self.watch.on("data"):
                tokens = self.director.sampler.batch(phase.plan, offset, self.trainer.own)
            with self.watch.on("model"):
                weights = (factors[phase.plan.source[offset]],) if scenario.objective else ()
                self.trainer.step(tokens[:, :-1], tokens[:, 1:], *weights)
                self.watch.steps += 1
            self.progress.stepped(self.trainer.steps_done)
            asked = self.trainer.ranks.largest(self._asked)  # of any rank: all stop after the same step
            if asked:
                self._save()
                self.saver.writer.wait()
                raise Interrupted(self.trainer.steps_done, asked)

    def _look(self, phase: Phase | None, shown: Shown = NOTHING_SHOWN, *, pivot: bool = False) -> Findings:
        """Let the probes look whose time has come: at a phase's end, or without a phase at the start and at a stop."""
        with self.watch.on("probes"):
            findings, probes = self.looker.look(self.state, phase, self.total, shown, pivot=pivot)
        self.state = attrs.evolve(self.state, probes=probes)
        with self.watch.on("recording"):
            self.record.findings(self.state.step, findings)
        self.saver.measured(self.state.step, findings, self.record.groups)
        return findings

    def _save_if_due(self) -> None:
        step = self.trainer.steps_done
        if step and step % self.director.scenario.run.checkpoint_every == 0:
            self._save()

    def _save(self) -> None:
        """Begin to write a checkpoint, unless there is one or the loss is no number; the saver looks at the weights."""
        if self.saver.has(self.trainer.steps_done, self.state):
            return
        with self.watch.on("recording"):
            if np.isfinite(self.trainer.collect().loss).all():
                self.saver.save(self.state, self.trainer)
            else:
                self.saver.left_out = self.trainer.steps_done

    def _observation(
        self, phase: Phase, losses: PhaseLosses, heldout: Vector | None, gradients: Gradients | None
    ) -> Observation:
        return Observation(
            loss=losses.row_loss,
            tokens=np.full(losses.row_loss.shape, self.trainer.shape.context, np.int64),
            source=phase.plan.source,
            weights=phase.landed.weights,
            step=self.state.step + phase.steps,
            heldout=heldout,
            loss_after=losses.loss_after,
            gradients=gradients,
        )

    def _refuse_divergence(self, phase: Phase, losses: PhaseLosses) -> None:
        """Stop a run whose loss is no longer a number, before anything learns from it."""
        bad = np.flatnonzero(~np.isfinite(losses.loss))
        if len(bad) == 0:
            return
        self.saver.writer.wait()
        good = self.trainer.ranks.share(self.saver.last_good)
        rows = self._rows(phase, int(bad[0]))
        raise RunError(
            f"the loss is {losses.loss[bad[0]]} at step {self.state.step + int(bad[0]) + 1} "
            f"(stage {phase.stage.name!r}, phase {self.state.phase}; rows of that step: {rows}); "
            f"{good}; {MILDER}"
        )

    def _note_spikes(self, start: int, phase: Phase, losses: PhaseLosses) -> None:
        """Write down the steps whose update was skipped."""
        if losses.skipped is None or losses.median is None:
            return
        for i in map(int, np.flatnonzero(losses.skipped)):
            text = spike_text(start + i + 1, losses.loss[i], losses.median[i], self._rows(phase, i))
            self.record.event(start + i + 1, "spike", text)

    def _rows(self, phase: Phase, offset: int) -> str:
        """Return in words how many rows of a step came from which source."""
        counts = np.bincount(phase.plan.source[offset].ravel(), minlength=len(self.director.sources))
        return ", ".join(
            f"{n} x {count}" for n, count in zip(self.director.sources.names, counts, strict=True) if count
        )

    def ask_to_stop(self, signal_number: int) -> None:
        """End the run after the present step."""
        self._asked = signal_number

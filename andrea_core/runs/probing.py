"""Probes on stored checkpoints: the run as it stood there, looked at by its own probes or by others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.assembly import corpus_for
from andrea_core.errors import PluginError, RunError
from andrea_core.fitting import machine
from andrea_core.forking import scenario_of
from andrea_core.looking import Looker
from andrea_core.model.course import Course
from andrea_core.model.pace import Pace
from andrea_core.model.view import ModelView
from andrea_core.parts import trainer_of
from andrea_core.phase import Director, State
from andrea_core.plan import Plan, probe_groups, probe_names
from andrea_core.runs.asked_probes import chosen
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.folder import check_scenario, read_facts, require_run
from andrea_core.runs.replay.director import Supply, Unplanned
from andrea_core.runs.simulated import refuse_simulated
from andrea_core.runs.store import open_run
from andrea_core.runs.tree import restore as restored
from andrea_core.saving import tree
from andrea_core.scenario import Loaded
from andrea_core.unchanged import other_plugins, refuse_other_text
from andrea_core.values import Findings, Sources

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.model.trainer import Trainer

Tell = Callable[[str], object]
"""Takes a line for the user."""


@attrs.frozen(eq=False)
class Look:
    """What the probes found in one checkpoint; `stage` is that of the last step."""

    step: int
    stage: str
    findings: Findings


@attrs.frozen(eq=False)
class Probing:
    """A run's scenario with the probes that are asked for, the steps to be looked at, and where its text is."""

    folder: Path
    loaded: Loaded
    names: tuple[str, ...]
    steps: tuple[int, ...]
    corpus: "Corpus"
    director: Director
    trainer: "Trainer"
    damaged: dict[int, str] = attrs.field(factory=dict)
    """What is wrong with the checkpoints that were passed over, by their steps."""

    @classmethod
    def of(
        cls,
        folder: Path,
        steps: Sequence[int] | None,
        names: Sequence[str],
        settings: Sequence[str],
        plugins: Sequence[str],
        tell: Tell = str,
        *,
        everywhere: bool = False,
        device: str = "cpu",
        threads: int | None = None,
    ) -> "Probing":
        """Prepare to look at checkpoints: those of `steps`, with `everywhere` all good ones, else the newest good one.

        `names` are the run's own probes, by their names in its record, or any other probes with default settings; none
        means all of its own. `settings` are NAME.KEY=VALUE. Raises RunError, ScenarioError: no run, no such step or
        probe, a probe that needs what a checkpoint does not keep, text that has changed.
        """
        require_run(folder)
        refuse_simulated(folder, "it has no checkpoints, and no model to look at")
        facts = read_facts(folder)
        check_scenario(folder, facts["digest"])
        loaded, wanted = chosen(scenario_of(folder, plugins), names, settings)
        if not names:
            for name in probe_names(loaded.scenario, loaded.catalogue):
                if name not in wanted:
                    tell(f"passed over: the probe {name!r} needs what no checkpoint keeps")
        at = _steps(folder, steps, tell, everywhere=everywhere)
        for text in other_plugins(facts, loaded.catalogue):
            tell(f"note: {text}; --plugin FILE names a copy of what it was")
        corpus = corpus_for(loaded.scenario, lambda _line: None)
        refuse_other_text(facts, corpus)
        used, _ = machine(device, threads)
        director = _director(folder, loaded)
        return cls(folder, loaded, wanted, at, corpus, director, trainer_of(loaded.scenario, corpus, used))

    def looks(self) -> Iterator[Look]:
        """Yield what the probes find, checkpoint by checkpoint, in the order of their steps.

        A probe that remembers begins anew at the first of them, so that a path or a barrier is one between checkpoints.
        Otherwise numbers are those that the run would have recorded there: its seeds, schedule and optimiser are used.
        A damaged checkpoint is passed over, and stands in `damaged`. Raises PluginError for a probe at fault.
        """
        course = Course(self.trainer, Plan.of(self.loaded).open_sources())
        looker = Looker(
            self.director,
            lambda step, stage, outcome: ModelView(self.trainer.model, self.corpus, step, course, stage, outcome),
            self.trainer,
        )
        start = self.director.start()
        index_of = {name: i for i, name in enumerate(probe_names(self.loaded.scenario, self.loaded.catalogue))}
        probes = start.probes
        for step in self.steps:
            try:
                checkpoint = CheckpointFolder(self.folder / "checkpoints").load(step)
            except RunError as error:
                self.damaged[step] = str(error)
                continue
            state = self._stand(checkpoint, start)
            findings = Findings({})
            for index in (index_of[name] for name in self.names):
                found, after = looker.measured(
                    index, attrs.evolve(state, probes=probes), looker.view(state.step, state.stage, None)
                )
                probes = (*probes[:index], after, *probes[index + 1 :])
                findings = findings.joined(found)
            yield Look(step, state.stage, findings)

    def groups(self) -> Mapping[str, str]:
        """Return where in a record each probe's measurements go, by the probe's name."""
        return probe_groups(self.loaded.scenario, self.loaded.catalogue)

    def _stand(self, checkpoint: Checkpoint, start: State) -> State:
        """Bring the trainer to a checkpoint, and return the state there, the stage being that of the last step."""
        lacking = {"state", "trainer"} - checkpoint.values.keys()
        if lacking:
            raise RunError(
                f"the checkpoint of step {checkpoint.step} in {self.folder} lacks {', '.join(sorted(lacking))}; it was "
                "written by another program"
            )
        scenario, trainer, step = self.loaded.scenario, self.trainer, checkpoint.step
        trainer.load(checkpoint.model, checkpoint.optimizer, tree(checkpoint, "trainer", {}))
        if not step:
            return attrs.evolve(start, stage="")
        stage = scenario.curriculum.stage(self._course(checkpoint, start), step - 1)
        trainer.pace = Pace.of(scenario.optimizer, scenario.run.steps, (stage.start, stage.until), stage.optimizer)
        return attrs.evolve(start, step=step, stage=stage.name)

    def _course(self, checkpoint: Checkpoint, start: State) -> Any:
        """Return the curriculum's state; nothing else of what the run remembers matters to a probe."""
        kept = checkpoint.values["state"]["fields"]["curriculum"]
        try:
            return restored(kept, checkpoint.arrays, start.curriculum)
        except PluginError as error:
            raise RunError(
                f"the stage of step {checkpoint.step} cannot be told, since the curriculum is not the one that the run "
                f"had: {error}; name a copy of its plugin as it was with --plugin FILE"
            ) from error


def _steps(folder: Path, steps: Sequence[int] | None, tell: Tell, *, everywhere: bool) -> tuple[int, ...]:
    """Return the steps to be looked at, ascending; raises RunError that lists those there are."""
    checkpoints = CheckpointFolder(folder / "checkpoints")
    there = checkpoints.steps()
    if steps and not everywhere:
        absent = [str(step) for step in steps if step not in there]
        if absent:
            raise RunError(
                f"{folder} has no checkpoint of step {', '.join(absent)}; there is "
                f"{', '.join(map(str, there)) or 'none'} (run.keep_every keeps more of them)"
            )
        return tuple(sorted(set(steps)))
    good = []
    for step in reversed(there):
        try:
            checkpoints.verify(step)
        except RunError as error:
            tell(f"passed over: {error}")
            continue
        good.append(step)
        if not everywhere:
            break
    if not good:
        raise RunError(f"{folder} has no valid checkpoint to look at")
    return tuple(reversed(good))


def _director(folder: Path, loaded: Loaded) -> Director:
    """Return a director that only knows the sources' sizes: it says which stage a step belongs to."""
    tokens = np.array(open_run(folder).attributes["epoch_tokens"], np.int64)
    context = loaded.scenario.model.resolve().context
    supplies: Any = [Supply(context, int(count)) for count in tokens]
    sources = Sources(tuple(loaded.scenario.sources), tokens)
    return Director.of(loaded, sources, Unplanned(loaded.scenario.sampler, supplies))

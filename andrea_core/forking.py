"""Forks: a new run that begins where another one stood, under a scenario of its own."""

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from andrea_core.assembly import assemble, corpus_for, create_folder, gone_after_failure
from andrea_core.carrying import carried
from andrea_core.errors import PluginError, RunError, ScenarioError
from andrea_core.fitting import machine, refuse_too_large
from andrea_core.layers import Layers
from andrea_core.parts import or_alone, parts_of
from andrea_core.pivots import Pivots, refuse_infeasible
from andrea_core.plugins import Catalogue
from andrea_core.progress import Progress
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.files import disk_errors
from andrea_core.runs.folder import SCENARIO, STORE, new_name, read_facts, require_run
from andrea_core.runs.own_plugins import placed
from andrea_core.saving import restore
from andrea_core.scenario import Loaded, Scenario, load_resolved, loaded as checked
from andrea_core.unchanged import other_plugins, other_text

if TYPE_CHECKING:
    from andrea_core.experiment import Experiment


def forked_run(
    parent: Path,
    step: int | None,
    loaded: Loaded,
    out: Path | None,
    progress: Progress,
    *,
    device: str,
    threads: int | None,
) -> tuple["Experiment", int]:
    """Return a run that goes on from a checkpoint of another one (its newest when no step is named), and its step.

    It starts from the model, the optimiser, the positions in the text, the weights, and the states of policy, reward
    and probes where they are of the same kind. Its record holds the parent's up to that step. A phase that the
    checkpoint cuts ends there, as at the border of a stage. Raises RunError, before anything is made, that says all
    that cannot be carried.
    """
    require_run(parent)
    facts, was = read_facts(parent), scenario_of(parent, loaded.scenario.plugins, only_missing=True)
    step = _step(parent, step)
    _refuse_over(loaded, parent, step)
    refuse_infeasible(loaded, step)
    corpus = corpus_for(loaded.scenario, progress.note)
    _refuse_uncarried(parent, [*other_text(facts, corpus), *_other_shape(was.scenario, loaded.scenario)])
    device, threads = machine(device, threads or int(facts["threads"]))
    refuse_too_large(loaded.scenario, corpus.tokenizer.vocabulary, device, or_alone(None))
    link = {
        "path": str(parent.resolve()),
        "name": was.scenario.name,
        "step": step,
        "digest": facts["digest"],
        "stages": _attributes(parent).get("stages", []),
    }
    path = out or Path("runs") / new_name(loaded.scenario.name)
    before, after = parts_of(_unobserved(was), corpus, device), parts_of(loaded, corpus, device)
    there = path.exists()
    folder = create_folder(path, loaded, corpus, device, threads, parent=link)
    with gone_after_failure(folder, there=there):
        with disk_errors(str(folder.store)):
            shutil.copytree(parent / STORE, folder.store)
        old = assemble(before, folder, Progress())
        old.pivots = Pivots.of(parent, was)
        old.state = restore(CheckpointFolder(parent / "checkpoints"), step, old.state, old.trainer, old.record.recorder)
        _close_phase(old, other_plugins(facts, was.catalogue), parent)
        tensors, recorded = old.trainer.state(), old.record.recorder.state()
        new = assemble(after, folder, progress)
        new.trainer.load(*tensors)
        new.record.recorder.restore(recorded)
        new.state, fresh = carried(old.state, old.director, new.director)
        new.begun = True
        afresh = f"; afresh: {', '.join(fresh)}" if fresh else ""
        new.record.event(step, "fork", f"goes on from step {step} of the run {was.scenario.name!r}{afresh}")
    return new, step


def scenario_of(run: Path, plugins: Sequence[str] = (), *, only_missing: bool = False) -> Loaded:
    """Return the scenario that a run was started with, whatever its scenario.toml says now.

    `plugins` are named besides; a file among them may be one of the run's at its new place, and is nothing else with
    `only_missing`. Raises RunError when the
    run's plugins are not there, or have changed so that the scenario cannot be read with them.
    """
    facts = read_facts(run)
    text = facts.get("scenario")
    if not isinstance(text, str):
        return load_resolved(run / SCENARIO)
    data = tomllib.loads(text)
    data["plugins"] = placed(facts, data.get("plugins", []), plugins, only_missing=only_missing)
    catalogue = Catalogue.of(data["plugins"], folder=run)
    try:
        return checked(data, catalogue, Layers(data, {(): str(run / SCENARIO)}).origin)
    except (PluginError, ScenarioError) as error:
        changed = other_plugins(facts, catalogue)
        if not changed:
            raise
        raise RunError(
            f"{'; '.join(changed)}; with it the run's scenario cannot be read: {error}; bring back what it was, or "
            "name a copy of that with --plugin FILE"
        ) from error


def _step(parent: Path, step: int | None) -> int:
    checkpoints = CheckpointFolder(parent / "checkpoints")
    if step is None:
        step, damage = checkpoints.newest_valid()
        if step is None:
            raise RunError(f"{parent} has no valid checkpoint to start from{': ' if damage else ''}{'; '.join(damage)}")
        return step
    if step not in checkpoints.steps():
        there = ", ".join(map(str, checkpoints.steps())) or "none"
        raise RunError(f"{parent} has no checkpoint of step {step}; there is {there}")
    checkpoints.verify(step)
    return step


def _refuse_over(loaded: Loaded, parent: Path, step: int) -> None:
    steps = loaded.scenario.run.steps
    if steps <= step:
        raise ScenarioError(
            f"the scenario ends at step {steps}, and {parent} is at step {step} there: steps are counted from the "
            f"parent's beginning; set run.steps to more than {step}"
        )


def _other_shape(was: Scenario, now: Scenario) -> list[str]:
    """Return what of two scenarios does not let one go on with the tensors and the record of the other."""
    one, other = was.model.resolve(), now.model.resolve()
    found = [
        f"model.{field.name} is {getattr(one, field.name)} -> {getattr(other, field.name)}"
        for field in attrs.fields(type(one))
        if getattr(one, field.name) != getattr(other, field.name)
    ]
    pairs = {
        "optimizer.use": (was.optimizer.use, now.optimizer.use),
        "sampler.rows": (was.sampler.rows, now.sampler.rows),
        "seed, which orders the text,": (was.seed, now.seed),
    }
    return found + [f"{name} is {old} -> {new}" for name, (old, new) in pairs.items() if old != new]


def _refuse_uncarried(parent: Path, differing: list[str]) -> None:
    if differing:
        raise RunError(
            f"{parent} cannot be gone on with under this scenario: {'; '.join(differing)}; let these be as in the run, "
            "or start a new one with `andrea run`"
        )


def _close_phase(old: "Experiment", changed: list[str], parent: Path) -> None:
    """End the phase in progress at the checkpoint, so that policy and record know all steps that were trained."""
    done = old.trainer.phase_steps
    if not done:
        return
    if changed:
        raise RunError(
            f"the checkpoint lies inside a phase, which only what decided it can end, but {'; '.join(changed)}; bring "
            f"back what it was, or name a checkpoint at the end of a phase (`andrea show {parent}` lists all)"
        )
    phase = old.decided()
    rng = old.director.draws(old.state)
    plan = old.director.sampler.plan(old.state.sampler, phase.landed.weights, phase.region.upper > 0, done, rng)
    old.saver.keep = attrs.evolve(old.saver.keep, best=False)  # nothing of the parent is saved here
    old.finish(attrs.evolve(phase, steps=done, plan=plan))


def _unobserved(loaded: Loaded) -> Loaded:
    return attrs.evolve(loaded, scenario=attrs.evolve(loaded.scenario, observers=()))


def _attributes(run: Path) -> Mapping[str, Any]:
    from andrea_core.runs.store import open_run

    return open_run(run).attributes

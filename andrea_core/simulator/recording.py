"""Writes a simulated run down as a run folder, so that whatever opens a run opens it: `open_run`, `andrea report`."""

import gc
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import zarr

from andrea_core.plan import Plan, probe_groups
from andrea_core.progress import Progress
from andrea_core.record import Record
from andrea_core.runs.folder import RunFolder, new_name
from andrea_core.runs.recorder import Recorder
from andrea_core.runs.simulated import SIMULATED
from andrea_core.simulator.optimum import Optimum, reached
from andrea_core.simulator.place import new_record
from andrea_core.simulator.simulation import HELDOUT, Done, Simulation, Trace
from andrea_core.simulator.truth import Truth
from andrea_core.simulator.verdict import uniform
from andrea_core.simulator.walked import judged
from andrea_core.values import Findings


def recorded(simulation: Simulation, optimum: Optimum, out: Path | None) -> tuple[Path, Trace, Optimum]:
    """Simulate to the end and return the run's folder, its trace and the optimum that it is held to.

    The folder comes to be at the end: a simulation of seconds need not survive a crash, and one that fails changes
    nothing. Raises RunError when the folder is in use or holds something else than the same simulation.
    """
    loaded = simulation.loaded
    path = out or Path("runs") / new_name(f"{loaded.scenario.name}-simulated")
    with new_record(path, loaded.text, facts_of(simulation)) as folder:
        record = _record(simulation, optimum, folder)
        gc.freeze()
        try:
            trace = simulation.run(lambda done: _write(record, done), lambda step, found: _look(record, step, found))
        finally:
            gc.unfreeze()
        record.close()
        held = judged(simulation, optimum, trace)
        if held is not optimum:
            zarr.open_group(folder.store, mode="a").attrs["optimum"] = _described(simulation.truth, held)
    return path, trace, held


def facts_of(simulation: Simulation) -> dict[str, Any]:
    """Return what `run.json` says of a simulation."""
    loaded = simulation.loaded
    return {
        "digest": loaded.digest,
        "plugins": [attrs.asdict(plugin) for plugin in loaded.catalogue.active],
        "device": SIMULATED,
        "threads": 1,
        "corpus": {},
        "tokenizer": "",
        "truth": simulation.truth.name,
        "truth_digest": simulation.truth.digest,
    }


def _record(simulation: Simulation, optimum: Optimum, folder: RunFolder) -> Record:
    loaded, truth = simulation.loaded, simulation.truth
    scenario = loaded.scenario
    groups = probe_groups(scenario, loaded.catalogue)
    attributes = {
        "sources": list(scenario.sources),
        "name": scenario.name,
        "digest": loaded.digest,
        "rows": scenario.sampler.rows,
        "context": scenario.model.resolve().context,
        "total_steps": scenario.run.steps,
        "stages": [{"name": s.name, "start": s.start, "until": s.until} for s in Plan.of(loaded).stages],
        "epoch_tokens": truth.tokens.tolist(),
        "truth": truth.name,
        "optimum": _described(truth, optimum),
    }
    recorder = Recorder(folder.store, attributes, whole=True)
    record = Record(recorder, simulation.director, Progress(), groups, [], simulation.tokens_per_step)
    for name in groups:
        if name.partition("-")[0] != HELDOUT:
            record.event(0, "probe", f"{name}: not measured, a simulated run has no model to look at")
    return record


def _described(truth: Truth, optimum: Optimum) -> dict[str, Any]:
    return {
        "loss": optimum.loss,
        "gap": optimum.gap,
        "uniform": reached(truth, optimum.pieces, uniform(optimum.pieces)),
        "steps": [piece.until - piece.start for piece in optimum.pieces],
        "weights": optimum.weights.tolist(),
    }


def _write(record: Record, done: Done) -> None:
    record.phase(done.before, done.after, done.phase, done.lesson, done.outcome, done.events, done.watch)
    end = {"step": np.int64(done.after.step), "mean": done.lesson.mean[-1]}
    record.recorder["probes/truth"].append(end)


def _look(record: Record, step: int, findings: Findings) -> None:
    record.findings(step, findings)

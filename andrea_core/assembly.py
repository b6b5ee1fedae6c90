"""Builds a run out of its parts, new or resumed: folder, corpus, streams, trainer, probes, record."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from andrea_core.data.sampler import Sampler
from andrea_core.data.stream import PackedStream
from andrea_core.errors import AndreaError, PluginError, RunError
from andrea_core.plan import Plan
from andrea_core.plugins import Catalogue
from andrea_core.progress import Progress
from andrea_core.runs.files import disk_errors, remove, write_text
from andrea_core.runs.folder import SCENARIO, TOKENIZER, RunFolder, new_name, read_facts
from andrea_core.scenario import Loaded, Scenario, load_resolved
from andrea_core.values import Sources

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.experiment import Experiment

Say = Callable[[str], None]


def new_run(loaded: Loaded, out: Path | None, progress: Progress, *, device: str, threads: int | None) -> "Experiment":
    """Return a run that is ready for step 0, in its new folder.

    Everything that can be wrong is looked at before the folder is made: the plan, the corpus, the model.
    """
    Plan.of(loaded).check()
    corpus = _corpus(loaded.scenario, progress.note)
    initial = _initial_weights(loaded.scenario, corpus.tokenizer.vocabulary)
    device, threads = _machine(device, threads)
    _refuse_unfit(loaded.scenario, corpus.tokenizer.vocabulary, device)
    facts = {
        "digest": loaded.digest,
        "plugins": [{"name": p.name, "origin": p.origin, "digest": p.digest} for p in loaded.catalogue.active],
        "device": device,
        "threads": threads,
        "corpus": {source.name: source.fingerprint for source in corpus.sources},
        "tokenizer": corpus.tokenizer.digest,
    }
    path = out or Path("runs") / new_name(loaded.scenario.name)
    folder = RunFolder.create(path, loaded.text, facts)
    _clear(folder)
    write_text(folder.path / TOKENIZER, corpus.tokenizer.to_json())
    experiment = _assemble(loaded, folder, corpus, progress, device)
    if initial is not None:
        experiment.trainer.model.load_state_dict(initial)
    return experiment


def resumed_run(path: Path, progress: Progress, *, device: str | None = None) -> tuple["Experiment", int]:
    """Return a run as its newest valid checkpoint left it, and that checkpoint's step.

    Raises RunError when the scenario, a plugin, the corpus or the tokenizer is not what the run was started with.
    """
    folder = RunFolder.open(path)
    try:
        facts = folder.facts()
        loaded = load_resolved(path / SCENARIO)
        _refuse_changes(facts, loaded)
        step, damage = folder.checkpoints.newest_valid()
        for text in damage:
            progress.note(f"passed over: {text}")
        if step is None:
            raise RunError(
                f"{path} has no valid checkpoint; start over with `andrea run {path / SCENARIO} --out {path}`"
            )
        corpus = _corpus(loaded.scenario, progress.note)
        _refuse_other_text(facts, corpus)
        used, _ = _machine(device or facts["device"], facts["threads"])
        return _assemble(loaded, folder, corpus, progress, used), step
    except BaseException:
        folder.release()
        raise


def corpus_of(path: Path) -> "Corpus":
    """Return the corpus of a run; raises RunError when a source's text is not what the run was trained with."""
    corpus = _corpus(load_resolved(path / SCENARIO).scenario, lambda _line: None)
    _refuse_other_text(read_facts(path), corpus)
    return corpus


def _assemble(loaded: Loaded, folder: RunFolder, corpus: "Corpus", progress: Progress, device: str) -> "Experiment":
    from andrea_core.experiment import Experiment
    from andrea_core.looking import Looker, needs_of
    from andrea_core.model.course import Course
    from andrea_core.model.gradients import GradientMeter
    from andrea_core.model.trainer import Trainer
    from andrea_core.model.view import ModelView
    from andrea_core.phase import Director
    from andrea_core.record import Record

    scenario = loaded.scenario
    shape, needs = scenario.model.resolve(), needs_of(scenario)
    streams = _streams(scenario, corpus, shape.context)
    sources = Sources(tuple(scenario.sources), np.array([stream.epoch_tokens for stream in streams]))
    director = Director.of(loaded, sources, Sampler(scenario.sampler, streams))
    trainer = Trainer(
        shape,
        scenario.optimizer,
        vocabulary=corpus.tokenizer.vocabulary,
        rows=scenario.sampler.rows,
        total_steps=scenario.run.steps,
        seed=scenario.seed,
        device=device,
        loss_after="loss_after" in needs,
    )
    meter = GradientMeter(trainer.model, corpus, scenario.seed) if "source_gradients" in needs else None
    course = Course(trainer, Plan.of(loaded).open_sources() if scenario.probes else {})
    looker = Looker(director, lambda step, stage: ModelView(trainer.model, corpus, step, course, stage), trainer, meter)
    recorder = _recorder(loaded, folder, corpus, sources, progress)
    groups = looker.groups()
    opened = _observers(scenario, loaded.catalogue, folder, sources)
    record = Record(recorder, director, progress, groups, opened, scenario.sampler.rows * shape.context)
    gc.freeze()  # what exists now lives as long as the run; the collector need not look at it again
    return Experiment(folder, director, trainer, looker, record, progress, director.start())


def _recorder(loaded: Loaded, folder: RunFolder, corpus: "Corpus", sources: Sources, progress: Progress) -> Any:
    from andrea_core.runs.recorder import Recorder

    scenario = loaded.scenario
    plan = Plan.of(loaded).stages
    attributes = {
        "sources": list(sources.names),
        "name": scenario.name,
        "digest": loaded.digest,
        "rows": scenario.sampler.rows,
        "context": scenario.model.resolve().context,
        "total_steps": scenario.run.steps,
        "stages": [{"name": stage.name, "start": stage.start, "until": stage.until} for stage in plan],
        "order0": [source.order0 for source in corpus.sources],
        "epoch_tokens": sources.tokens.tolist(),
    }
    return Recorder(folder.store, attributes, every_seconds=30.0 if progress.watched else None)


def _observers(scenario: Scenario, catalogue: Catalogue, folder: RunFolder, sources: Sources) -> list[Any]:
    opened = []
    for observer in scenario.observers:
        name = catalogue.name_of("observers", observer)
        try:
            opened.append((name, observer, observer.open(str(folder.path), sources)))
        except (Exception, SystemExit) as error:
            raise PluginError(f"the observer {name!r} cannot start: {type(error).__name__}: {error}") from error
    return opened


def _corpus(scenario: Scenario, say: Say) -> "Corpus":
    from andrea_core.data.corpus import prepare

    return prepare(scenario.sources, scenario.tokenizer, report=say)


def _streams(scenario: Scenario, corpus: "Corpus", context: int) -> list[PackedStream]:
    separator = corpus.tokenizer.separator
    return [
        PackedStream(
            source.name,
            source.train.tokens,
            source.train.offsets,
            separator=separator,
            context=context,
            seed=scenario.seed,
        )
        for source in corpus.sources
    ]


def _initial_weights(scenario: Scenario, vocabulary: int) -> dict[str, Any] | None:
    """Return the weights that the scenario starts from; None for random ones."""
    if scenario.model.init_from is None:
        return None
    from andrea_core.model.gpt import build_model
    from andrea_core.model.gpt2 import start_from

    model = build_model(scenario.model.resolve(), vocabulary, 0)
    start_from(model, Path(scenario.model.init_from))
    return model.state_dict()


def _refuse_unfit(scenario: Scenario, vocabulary: int, device: str) -> None:
    """Raise RunError, with the numbers, when training will not fit into the memory that is free."""
    import torch

    from andrea_core.model.memory import free_memory, predicted, refuse_unfit

    memory = predicted(scenario.model.resolve(), scenario.optimizer, vocabulary, scenario.sampler.rows)
    free = torch.cuda.mem_get_info()[0] if device == "cuda" else free_memory()
    refuse_unfit(memory, free, "the GPU" if device == "cuda" else "this machine")


def _machine(device: str, threads: int | None) -> tuple[str, int]:
    """Return the device and the number of threads, both set; raises AndreaError for a device that is not there."""
    import torch

    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next(name for name in ("cuda", "mps", "cpu") if available[name])
    if not available.get(device, False):
        there = ", ".join(name for name, there in available.items() if there)
        raise AndreaError(f"--device {device}: this machine's PyTorch has none; it has {there}")
    if threads is not None:
        torch.set_num_threads(threads)
    return device, torch.get_num_threads()


def _refuse_changes(facts: dict[str, Any], loaded: Loaded) -> None:
    if facts["digest"] != loaded.digest:
        raise RunError(
            "scenario.toml in the run folder is not what the run was started with; undo the change, or start a new run"
        )
    now = {plugin.name: plugin.digest for plugin in loaded.catalogue.active}
    for plugin in facts["plugins"]:
        if now.get(plugin["name"]) != plugin["digest"]:
            raise RunError(
                f"the plugin {plugin['name']} ({plugin['origin']}) has changed since the run was started; "
                "bring back the old version, or start a new run"
            )


def _refuse_other_text(facts: dict[str, Any], corpus: "Corpus") -> None:
    for source in corpus.sources:
        if facts["corpus"].get(source.name) != source.fingerprint:
            raise RunError(
                f"the text of source {source.name!r} is not what the run was trained on; "
                "bring it back, or start a new run"
            )
    if facts["tokenizer"] != corpus.tokenizer.digest:
        raise RunError("the tokenizer is not what the run was trained with; bring it back, or start a new run")


def _clear(folder: RunFolder) -> None:
    """Start over: nothing of an earlier attempt in this folder may be mixed into the new record."""
    with disk_errors(str(folder.path)):
        for leftover in (folder.store, folder.checkpoints.folder):
            remove(leftover)
        folder.checkpoints.folder.mkdir(exist_ok=True)

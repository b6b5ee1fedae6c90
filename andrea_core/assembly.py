"""Builds a run out of its parts, new or resumed: folder, corpus, streams, trainer, probes, record."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from andrea_core.errors import RunError
from andrea_core.fitting import initial_weights, machine, refuse_too_large
from andrea_core.opening import observers_of
from andrea_core.parts import Parts, or_alone, parts_of
from andrea_core.pivots import Pivots
from andrea_core.plan import Plan
from andrea_core.progress import Progress
from andrea_core.runs.files import disk_errors, remove, write_text
from andrea_core.runs.folder import PIVOTS, SAVES, SCENARIO, TOKENIZER, RunFolder, first_step, new_name, read_facts
from andrea_core.runs.writer import Writer
from andrea_core.saving import Saver, keep_of
from andrea_core.scenario import Loaded, Scenario, load_resolved
from andrea_core.together import Bystander, Silence, by_first
from andrea_core.unchanged import refuse_other_plugins, refuse_other_reading, refuse_other_text
from andrea_core.values import Stage

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.experiment import Experiment
    from andrea_core.model.ranks import Ranks
    from andrea_core.runs.recorder import Recorder

Say = Callable[[str], None]


def new_run(
    loaded: Loaded,
    out: Path | None,
    progress: Progress,
    *,
    device: str,
    threads: int | None,
    ranks: "Ranks | None" = None,
) -> "Experiment":
    """Return a run that is ready for step 0, in its new folder, which of several ranks the first makes.

    Everything that can be wrong is looked at before the folder is made: the plan, the corpus, the model, and the state
    that every component starts with. When it cannot begin after all, the folder goes again.
    """
    ranks = or_alone(ranks)
    Plan.of(loaded).check()
    ranks.rows(loaded.scenario.sampler.rows)
    corpus = ranks.in_turn(lambda: corpus_for(loaded.scenario, progress.note))
    initial = initial_weights(loaded.scenario, corpus.tokenizer.vocabulary)
    device, used = machine(device, threads)
    refuse_too_large(loaded.scenario, corpus.tokenizer.vocabulary, device, ranks)
    parts = parts_of(loaded, corpus, device, ranks)
    if initial is not None:
        parts.trainer.load_model(initial)
    path = out or Path("runs") / new_name(loaded.scenario.name)
    there = path.exists()
    folder = by_first(ranks, lambda: create_folder(path, loaded, corpus, device, used))
    with gone_after_failure(folder, there=there) if ranks.first else nullcontext():
        return assemble(parts, folder, progress)


@contextmanager
def gone_after_failure(folder: RunFolder, *, there: bool) -> Iterator[None]:
    """Let a new run's folder go when an error comes up: what was there before keeps its place, without a record."""
    try:
        yield
    except BaseException:
        remove(folder.store if there else folder.path)
        folder.release()
        raise


def create_folder(path: Path, loaded: Loaded, corpus: "Corpus", device: str, threads: int, **more: Any) -> RunFolder:
    """Return a run's folder, new or started over, with its facts (`more` besides) and its tokenizer written down."""
    facts = {
        "digest": loaded.digest,
        "plugins": [{"name": p.name, "origin": p.origin, "digest": p.digest} for p in loaded.catalogue.active],
        "device": device,
        "threads": threads,
        "corpus": {source.name: source.fingerprint for source in corpus.sources},
        "tokenizer": corpus.tokenizer.digest,
        **more,
    }
    folder = RunFolder.create(path, loaded.text, facts)
    _clear(folder)
    write_text(folder.path / TOKENIZER, corpus.tokenizer.to_json())
    return folder


def resumed_run(
    path: Path, progress: Progress, *, device: str | None = None, ranks: "Ranks | None" = None
) -> tuple["Experiment", int]:
    """Return a run as its newest valid checkpoint left it, and that checkpoint's step; by any number of ranks.

    Raises RunError when the scenario, a plugin, the corpus or the tokenizer is not what the run was started with.
    """
    ranks = or_alone(ranks)
    folder = by_first(ranks, lambda: RunFolder.open(path))
    try:
        facts = folder.facts()
        loaded = load_resolved(path / SCENARIO)
        refuse_other_reading(facts, loaded, str(path / SCENARIO))
        refuse_other_plugins(facts, loaded.catalogue, str(path))
        ranks.rows(loaded.scenario.sampler.rows)
        step, damage = ranks.share(folder.checkpoints.newest_valid)
        for text in damage:
            progress.note(f"passed over: {text}")
        if step is None:
            again = f"fork {facts['parent']['path']}@{facts['parent']['step']}" if "parent" in facts else "run"
            raise RunError(
                f"{path} has no valid checkpoint; start over with `andrea {again} {path / SCENARIO} --out {path}`"
            )
        corpus = ranks.in_turn(lambda: corpus_for(loaded.scenario, progress.note))
        refuse_other_text(facts, corpus)
        used, _ = machine(device or facts["device"], facts["threads"])
        return assemble(parts_of(loaded, corpus, used, ranks), folder, progress), step
    except BaseException:
        folder.release()
        raise


def corpus_of(path: Path) -> "Corpus":
    """Return the corpus of a run; raises RunError when a source's text is not what the run was trained with."""
    corpus = corpus_for(load_resolved(path / SCENARIO).scenario, lambda _line: None)
    refuse_other_text(read_facts(path), corpus)
    return corpus


def assemble(parts: Parts, folder: RunFolder, progress: Progress) -> "Experiment":
    """Return the experiment of a run's parts in its folder, ready for its first step; of several ranks, this one's."""
    from andrea_core.experiment import Experiment
    from andrea_core.record import Record

    loaded, ranks, director, looker = parts.loaded, parts.trainer.ranks, parts.director, parts.looker
    scenario, sources, writer = loaded.scenario, director.sources, Writer()
    recorder = _recorder(parts, folder, progress, writer) if ranks.first else Silence()
    opened = observers_of(scenario, loaded.catalogue, folder, sources) if ranks.first else []
    tokens = scenario.sampler.rows * parts.trainer.shape.context
    record = Record(recorder, director, progress, looker.groups(), opened, tokens)
    gc.freeze()  # what exists now lives as long as the run; the collector need not look at it again
    saver = (Saver if ranks.first else Bystander)(
        folder, recorder, writer, keep_of(scenario.run, first_step(folder.path))
    )
    pivots = Pivots.of(folder.path, loaded)
    return Experiment(folder, director, parts.trainer, looker, record, progress, saver, pivots, parts.state)


def _recorder(parts: Parts, folder: RunFolder, progress: Progress, writer: Writer) -> "Recorder":
    from andrea_core.runs.recorder import Recorder

    loaded, sources = parts.loaded, parts.director.sources
    scenario = loaded.scenario
    attributes = {
        "sources": list(sources.names),
        "name": scenario.name,
        "digest": loaded.digest,
        "rows": scenario.sampler.rows,
        "context": scenario.model.resolve().context,
        "total_steps": scenario.run.steps,
        "stages": _stages(Plan.of(loaded).stages, folder.facts().get("parent")),
        "order0": [source.order0 for source in parts.corpus.sources],
        "epoch_tokens": sources.tokens.tolist(),
    }
    return Recorder(folder.store, attributes, every_seconds=30.0 if progress.watched else None, writer=writer)


def _stages(plan: Sequence[Stage], parent: Any) -> list[dict[str, Any]]:
    """Return the stages as the record names them; those of a fork's parent up to where the fork begins."""
    own: list[Any] = [{"name": stage.name, "start": stage.start, "until": stage.until} for stage in plan]
    if not isinstance(parent, dict):
        return own
    at = int(parent["step"])
    before = [one for one in parent["stages"] if one["start"] < at]
    return [
        *({**one, "until": min(one["until"], at)} for one in before),
        *({**one, "start": max(one["start"], at)} for one in own if one["until"] > at),
    ]


def corpus_for(scenario: Scenario, say: Say) -> "Corpus":
    """Return the text of a scenario's sources, prepared."""
    from andrea_core.data.corpus import prepare

    return prepare(scenario.sources, scenario.tokenizer, report=say)


def _clear(folder: RunFolder) -> None:
    """Start over: nothing of an earlier attempt in this folder may be mixed into the new record."""
    with disk_errors(str(folder.path)):
        for leftover in (folder.store, folder.checkpoints.folder, folder.path / PIVOTS, folder.path / SAVES):
            remove(leftover)
        folder.checkpoints.folder.mkdir(exist_ok=True)

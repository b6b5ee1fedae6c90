"""What a run is made of before it has a folder: director, trainer, probes, and the state it starts from."""

from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core.data.sampler import Sampler
from andrea_core.data.stream import PackedStream
from andrea_core.plan import Plan
from andrea_core.scenario import Loaded, Scenario
from andrea_core.values import Sources

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.looking import Looker
    from andrea_core.model.ranks import Ranks
    from andrea_core.model.trainer import Trainer
    from andrea_core.phase import Director, State


@attrs.frozen(eq=False)
class Parts:
    """A run that stands nowhere yet: nothing of it is on disk, so what cannot be is refused without a trace."""

    loaded: Loaded
    corpus: "Corpus"
    director: "Director"
    trainer: "Trainer"
    looker: "Looker"
    state: "State"
    """The state before the first phase."""


def parts_of(loaded: Loaded, corpus: "Corpus", device: str, ranks: "Ranks | None" = None) -> Parts:
    """Return the parts of a scenario's run, of several ranks this one's.

    Raises RunError for settings that cannot be trained, PluginError for a component that cannot start.
    """
    from andrea_core.looking import Looker, needs_of
    from andrea_core.model.course import Course
    from andrea_core.model.gradients import GradientMeter
    from andrea_core.model.view import ModelView
    from andrea_core.phase import Director

    scenario, needs = loaded.scenario, needs_of(loaded.scenario)
    streams = _streams(scenario, corpus, scenario.model.resolve().context)
    sources = Sources(tuple(scenario.sources), np.array([stream.epoch_tokens for stream in streams]))
    director = Director.of(loaded, sources, Sampler(scenario.sampler, streams))
    state = director.start()
    trainer = trainer_of(scenario, corpus, device, loss_after="loss_after" in needs, ranks=ranks)
    seen = trainer.held.viewed
    meter = GradientMeter(seen, corpus, scenario.seed) if "source_gradients" in needs else None
    course = Course(trainer, Plan.of(loaded).open_sources() if scenario.probes else {})
    known = None if trainer.held.parted else course  # one rank alone cannot put the optimiser's parts together
    looker = Looker(
        director,
        lambda step, stage, outcome: ModelView(seen, corpus, step, known, stage, outcome),
        trainer,
        meter,
    )
    return Parts(loaded, corpus, director, trainer, looker, state)


def trainer_of(
    scenario: Scenario, corpus: "Corpus", device: str, *, loss_after: bool = False, ranks: "Ranks | None" = None
) -> "Trainer":
    """Return the trainer of a scenario's model, before the first step."""
    from andrea_core.model.trainer import Trainer

    return Trainer(
        scenario.model.resolve(),
        scenario.optimizer,
        vocabulary=corpus.tokenizer.vocabulary,
        rows=scenario.sampler.rows,
        total_steps=scenario.run.steps,
        seed=scenario.seed,
        device=device,
        loss_after=loss_after,
        ranks=or_alone(ranks),
        parallel=scenario.run.parallel,
    )


def or_alone(ranks: "Ranks | None") -> "Ranks":
    """Return the ranks that are given, or one that trains alone."""
    from andrea_core.model.ranks import ALONE

    return ranks or ALONE


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

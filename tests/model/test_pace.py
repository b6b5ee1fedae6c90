"""A stage's own optimiser settings: what they replace, where their schedule runs, what is refused."""

from collections.abc import Callable

import attrs
import numpy as np
import pytest

from andrea_core.model.pace import Pace, StageOptimizer
from andrea_core.model.schedule import learning_rate
from andrea_core.model.settings import OptimizerSettings
from andrea_core.model.trainer import Trainer

Make = Callable[..., Trainer]
Batches = list[tuple[np.ndarray, np.ndarray]]
RUN = OptimizerSettings(lr=1e-2, warmup=10)


def test_a_stage_without_settings_follows_the_run() -> None:
    pace = Pace.of(RUN, 100, (40, 60), None)

    assert [pace.rate(step) for step in range(100)] == [learning_rate(step, RUN, 100) for step in range(100)]


def test_a_peak_alone_scales_the_schedule_of_the_run() -> None:
    pace = Pace.of(RUN, 100, (40, 60), StageOptimizer(lr=5e-3))

    assert [pace.rate(step) for step in range(40, 60)] == pytest.approx(
        [learning_rate(step, RUN, 100) / 2 for step in range(40, 60)]
    )


def test_a_schedule_begins_and_ends_with_the_stage() -> None:
    pace = Pace.of(RUN, 100, (40, 60), StageOptimizer(lr=1e-3, schedule="cosine", warmup=4, final=0.0))

    assert pace.rate(40) == pytest.approx(1e-3 / 4)
    assert pace.rate(43) == pytest.approx(1e-3)
    assert pace.rate(59) == pytest.approx(0.0, abs=1e-12)


def test_the_last_stage_ends_with_the_run_and_needs_no_warm_up() -> None:
    pace = Pace.of(RUN, 100, (40, 2**63 - 1), StageOptimizer(schedule="wsd", decay=0.5, final=0.1))

    assert pace.rate(40) == pytest.approx(1e-2)
    assert pace.rate(99) == pytest.approx(1e-3)


@pytest.mark.parametrize("name", ["warmup", "final", "decay"])
def test_parts_of_a_schedule_without_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} belongs to a schedule of the stage's own"):
        StageOptimizer(**{name: 1})


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match="schedule must be one of 'cosine'"):
        StageOptimizer(schedule="cosin")


def test_clip_and_decay_of_a_stage_act_and_its_rates_are_shown(make_trainer: Make, batches: Batches) -> None:
    own = StageOptimizer(lr=1e-3, clip=0.0, weight_decay=0.0, schedule="constant")
    trainer, other = make_trainer(), make_trainer(lr=1e-3, clip=0.0, weight_decay=0.0, schedule="constant", warmup=0)
    trainer.pace = Pace.of(trainer.settings, 20, (0, 20), own)
    for batch in batches[:4]:
        trainer.step(*batch)
        other.step(*batch)

    assert trainer.collect().lr.tolist() == [1e-3] * 4
    assert trainer.collect().row_loss.tobytes() == other.collect().row_loss.tobytes()


def test_the_run_gets_its_decay_back(make_trainer: Make, batches: Batches) -> None:
    trainer = make_trainer()
    trainer.pace = attrs.evolve(trainer.pace, settings=attrs.evolve(trainer.settings, weight_decay=0.0))
    trainer.step(*batches[0])
    trainer.pace = Pace(trainer.settings, 0, 20)
    trainer.step(*batches[1])

    decays = {group["params"][0].ndim > 1: group["weight_decay"] for group in trainer.optimizer.param_groups}
    assert decays == {True: 0.1, False: 0.0}

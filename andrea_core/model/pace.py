"""The pace of training: a stage's own optimiser settings, and the stretch of steps its learning rate follows."""

import attrs

from andrea_core.fields import fraction, number, one_of, positive, span
from andrea_core.model.schedule import learning_rate
from andrea_core.model.settings import SCHEDULES, OptimizerSettings


@attrs.frozen
class StageOptimizer:
    """What a stage changes in the `[optimizer]` table; what is left out stays as the run has it.

    Without a `schedule` the run's own goes on, with another peak if `lr` is given. A `schedule` begins anew with the
    stage and lasts as long: `warmup` (0 unless given) counts from its first step, `decay` is a part of its steps, and
    `final` is reached with its last one. Raises ValueError for one of these three without a schedule.
    """

    lr: float | None = positive(default=None)
    weight_decay: float | None = number(default=None, at_least=0)
    clip: float | None = number(default=None, at_least=0)
    schedule: str | None = one_of(*SCHEDULES, default=None)
    warmup: int | None = span(default=None, at_least=0)
    final: float | None = fraction(default=None)
    decay: float | None = fraction(default=None)

    def __attrs_post_init__(self) -> None:
        for name in ("warmup", "final", "decay"):
            if self.schedule is None and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} belongs to a schedule of the stage's own; give the stage a `schedule`, or leave {name} out"
                )


@attrs.frozen
class Pace:
    """The settings in force, and the steps [start, start + length) that the schedule runs over."""

    settings: OptimizerSettings
    start: int
    length: int

    @classmethod
    def of(cls, settings: OptimizerSettings, total: int, stage: tuple[int, int], own: StageOptimizer | None) -> "Pace":
        """Return the pace of a stage [start, until) of a run of `total` steps, with settings of its own or without."""
        if own is None:
            return cls(settings, 0, total)
        given = {name: value for name, value in attrs.asdict(own).items() if value is not None}
        if own.schedule is None:
            return cls(attrs.evolve(settings, **given), 0, total)
        start, until = stage[0], min(stage[1], total)
        return cls(attrs.evolve(settings, **{"warmup": 0, **given}), start, until - start)

    def rate(self, step: int) -> float:
        """Return the learning rate of the run's 0-based `step`."""
        return learning_rate(step - self.start, self.settings, self.length)

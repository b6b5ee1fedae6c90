"""When a probe looks: at multiples of some steps, more often at first, at stage borders, at the start and the end."""

import attrs

from andrea_core.fields import positive, span


@attrs.frozen(kw_only=True)
class Timetable:
    """The step counts that a probe waits for; it looks at the first phase border at or after each of them.

    They are the multiples of `every`, and up to `dense_until` (a step of the run, a span) those of `dense_every` too, 1
    if not given. `at_stage_borders` is the end of each stage, the last one's too, `at_start` before step 1, `at_end`
    after the last step.
    """

    every: int | None = positive(default=None)
    dense_until: int | None = span(default=None, at_least=1)
    dense_every: int | None = positive(default=None)
    at_start: bool = False
    at_stage_borders: bool = False
    at_end: bool = False

    def __attrs_post_init__(self) -> None:
        if self.dense_every is not None and self.dense_until is None:
            raise ValueError("dense_every needs dense_until, the step up to which it holds")
        if self.every is not None and (self.dense_every or 0) >= self.every:
            raise ValueError(f"dense_every must be less than every, {self.every}, got {self.dense_every}")

    @property
    def empty(self) -> bool:
        """Whether no time is named."""
        return not (self.every or self.dense_until or self.at_start or self.at_stage_borders or self.at_end)

    def passed(self, before: int, now: int) -> bool:
        """Return whether one of the multiples lies in (before, now], finished steps."""
        if self.every is not None and now // self.every > before // self.every:
            return True
        if self.dense_until is None:
            return False
        dense, last = self.dense_every or 1, min(now, self.dense_until)
        return last // dense > before // dense


BORDERS = Timetable(at_stage_borders=True, at_end=True)
"""When a probe looks for which neither the scenario nor its own class names a time."""

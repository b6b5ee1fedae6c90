"""Epoch cap: a source that has been seen often enough is capped at 0, its floor notwithstanding."""

from typing import ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core import (
    Context,
    InfeasibleRegion,
    Region,
    Sources,
    Vector,
    check_sources,
    one_of,
    positive,
    retire,
    source_names,
)


@attrs.frozen
class EpochCap:
    """Take a source out once `epochs` passes over its own text are trained: its weight is exactly +0.0 from then on.

    The count is looked at where a phase begins; the phase that reaches it may run past it. `sources` are the ones that
    are watched, all if left out. A source that still has a floor clashes: with `on_clash = "drop_floor"` the floor is
    dropped and the record says so in its events, with `"stop"` the run ends with an error. When no source is left
    the run ends, whichever is chosen. A source that was never seen is never taken out.
    """

    epochs: float = positive()
    sources: tuple[str, ...] | None = source_names(default=None)
    on_clash: str = one_of("drop_floor", "stop", default="drop_floor")
    around_weights: ClassVar[bool] = False
    lifts_floors: ClassVar[bool] = True

    def restrict(self, region: Region, context: Context) -> Region:
        """Return the face of the region without the exhausted sources, their floors dropped where that is asked for.

        Raises ScenarioError for a name that is no source, InfeasibleRegion for a clash that is not to be resolved.
        """
        check_sources(self.sources or (), context.sources, f"epoch_cap of stage {context.stage!r}")
        gone = self._exhausted(region, context)
        if not len(gone):
            return region
        names = [region.names[i] for i in gone]
        if not np.delete(region.stated.upper, gone).any():
            raise self._nothing_left(names, context)
        floored = [int(i) for i in gone if region.stated.lower[i] > 0]
        if floored and self.on_clash == "stop":
            raise self._clash(region, floored[0], context)
        return retire(region, {name: self._reason(name, context) for name in names})

    def foresee(self, epochs: Vector, sources: Sources) -> list[str]:
        """Return a sentence for each watched source that its floors alone would bring to the cap.

        `epochs` (K,) are the passes that floors imply by the end of a stage.
        """
        end = {"drop_floor": "the floor will be dropped", "stop": "the run will stop"}[self.on_clash]
        return [
            f"the floors of {name} alone imply {seen:.3g} epochs of it, the epoch cap is {self.epochs:g}: {end}"
            for name, seen in zip(sources.names, epochs, strict=True)
            if self._watched(name) and seen >= self.epochs
        ]

    def _watched(self, name: str) -> bool:
        return self.sources is None or name in self.sources

    def _exhausted(self, region: Region, context: Context) -> npt.NDArray[np.intp]:
        """Return the indices of the watched sources that are at the cap and not excluded by a stated bound.

        A source that only another's floor leaves without room counts: that floor may be the one that goes.
        """
        watched = np.array([self._watched(name) for name in region.names])
        return np.flatnonzero(watched & (context.ledger.epochs >= self.epochs) & (region.stated.upper > 0))

    def _reason(self, name: str, context: Context) -> str:
        seen = context.ledger.epochs[context.sources.index(name)]
        return f"seen {seen:.4g} times, epoch cap {self.epochs:g}"

    def _clash(self, region: Region, i: int, context: Context) -> InfeasibleRegion:
        floor = region.stated.floor(i)
        reason = self._reason(floor.source, context)
        repair = (
            f"lower the floor, raise the epoch cap, give {floor.source} more text, or set "
            'on_clash = "drop_floor" to go on without it'
        )
        message = f"epoch_cap clashes with the {floor}: {floor.source} was {reason}. To mend it, {repair}."
        return InfeasibleRegion(message, clash=(floor,), excess=floor.value, repair=repair)

    def _nothing_left(self, names: list[str], context: Context) -> InfeasibleRegion:
        shown = ", ".join(f"{name} ({self._reason(name, context)})" for name in names[:6])
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        repair = "raise the epoch cap, give the sources more text, or end the run earlier"
        return InfeasibleRegion(
            f"epoch_cap leaves no source: {shown}{more}. To mend it, {repair}.", excess=1.0, repair=repair
        )

"""Static: one stage with all sources, for a run without a curriculum."""

import attrs

from andrea_core import Findings, Outcome, Sources, Stage

OPEN_END = 2**63 - 1
"""The border of a stage that lasts to the end of the run, whatever its length."""


@attrs.frozen
class Static:
    """Keep one stage, called `name`, from the first step to the last, with every source and no constraint."""

    name: str = "all"

    def start(self, sources: Sources) -> None:
        """Return None: nothing is remembered."""

    def stage(self, state: None, step: int) -> Stage:
        """Return the one stage."""
        return Stage(self.name, 0, OPEN_END)

    def update(self, state: None, outcome: Outcome, findings: Findings) -> None:
        """Return None: nothing is learnt."""

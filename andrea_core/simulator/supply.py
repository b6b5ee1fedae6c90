"""Sources without text: all that planning rows and counting epochs needs of a source is its size."""

import attrs

from andrea_core.data.sampler import Sampler, SamplerSettings
from andrea_core.simulator.truth import Truth
from andrea_core.values import Integers


@attrs.frozen
class Supply:
    """A source of `epoch_tokens` tokens, read in rows of `context` tokens."""

    epoch_tokens: int
    context: int

    def epochs(self, rows: int) -> float:
        """Return how often `rows` rows pass over the source."""
        return rows * self.context / self.epoch_tokens

    def row(self, position: int) -> Integers:
        """Raise AssertionError: there is no text to read."""
        raise AssertionError("a simulated source has no rows to read")


def supplied(settings: SamplerSettings, truth: Truth, context: int) -> Sampler:
    """Return the sampler of a simulated run."""
    return Sampler(settings, [Supply(int(tokens), context) for tokens in truth.tokens])

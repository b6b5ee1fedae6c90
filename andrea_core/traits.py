"""What policies and rewards declare of themselves: reward range, sign, staleness, pull model, unseen sources."""

import math

import attrs

from andrea_core.fields import one_of

ANY = (-math.inf, math.inf)


@attrs.frozen
class PolicyTraits:
    """What a policy declares as `traits`; `andrea plugins` prints it, the conformance check holds it to `equivariant`.

    `reward` is the range of rewards its defaults are made for, None when it reads none. `pull` is "one" for a policy
    that credits one source a step, "mixed" for one that learns from a batch of several, "none" for one that does not
    learn. `unseen` says what becomes of a source that a phase did not show. `equivariant` claims that renaming the
    sources renames the weights and changes nothing else.
    """

    reward: tuple[float, float] | None = None
    pull: str = one_of("one", "mixed", "none", default="none")
    unseen: str = "no difference"
    equivariant: bool = True


@attrs.frozen
class RewardTraits:
    """What a reward declares as `traits`: its `range` [low, high] in its own unit, and how old its news is.

    `staleness` counts the phases between what is measured and what the policy may do with it: 0 for a score of the
    phase just trained, 1 for a difference to the phase before it, infinite for an average over the whole past.
    """

    range: tuple[float, float] = ANY
    staleness: float = 0.0
    unit: str = "nats a token"

    @property
    def signed(self) -> bool:
        """Whether scores may be negative."""
        return self.range[0] < 0

"""Built-in rewards: improvement, loss."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.rewards.improvement import Improvement
from andrea_plugins.rewards.loss import Loss

__all__ = ["Improvement", "Loss"]


@hookimpl
def andrea_rewards() -> Mapping[str, type]:
    """Return the rewards by the names that scenarios use."""
    return {"improvement": Improvement, "loss": Loss}

"""Built-in rewards: improvement, loss, excess_loss, prediction_gain, heldout_gain, gradient_alignment, probe."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.rewards.excess_loss import ExcessLoss
from andrea_plugins.rewards.gradient_alignment import GradientAlignment
from andrea_plugins.rewards.heldout_gain import HeldoutGain
from andrea_plugins.rewards.improvement import Improvement
from andrea_plugins.rewards.loss import Loss
from andrea_plugins.rewards.prediction_gain import PredictionGain
from andrea_plugins.rewards.probe import Probed

__all__ = ["ExcessLoss", "GradientAlignment", "HeldoutGain", "Improvement", "Loss", "PredictionGain", "Probed"]


@hookimpl
def andrea_rewards() -> Mapping[str, type]:
    """Return the rewards by the names that scenarios use."""
    return {
        "improvement": Improvement,
        "loss": Loss,
        "excess_loss": ExcessLoss,
        "prediction_gain": PredictionGain,
        "heldout_gain": HeldoutGain,
        "gradient_alignment": GradientAlignment,
        "probe": Probed,
    }

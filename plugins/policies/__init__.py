"""Built-in policies: random, ucb1, dice, fixed, uniform, proportional."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.policies.dice import Dice, Face
from andrea_plugins.policies.fixed import Fixed
from andrea_plugins.policies.proportional import Proportional
from andrea_plugins.policies.random import Random
from andrea_plugins.policies.ucb1 import Ucb1
from andrea_plugins.policies.uniform import Uniform

__all__ = ["Dice", "Face", "Fixed", "Proportional", "Random", "Ucb1", "Uniform"]


@hookimpl
def andrea_policies() -> Mapping[str, type]:
    """Return the policies by the names that scenarios use."""
    return {
        "random": Random,
        "ucb1": Ucb1,
        "dice": Dice,
        "fixed": Fixed,
        "uniform": Uniform,
        "proportional": Proportional,
    }

"""Built-in policies, from static mixtures to bandits; one file each.

Static: fixed, uniform, proportional, temperature, unimax, random. Bandits: ucb1, discounted_ucb, sliding_window_ucb,
thompson, exp3, exp3s, exp3ix, tsallis_inf. Mixtures: odm, graves, learning_progress, dump, loss_softmax, doremi,
skill_it, aioli, ado, doge, rb. Of policies: dice.
"""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.policies.ado import Ado
from andrea_plugins.policies.aioli import Aioli
from andrea_plugins.policies.dice import Dice, Face
from andrea_plugins.policies.discounted_ucb import DiscountedUcb
from andrea_plugins.policies.doge import Doge
from andrea_plugins.policies.doremi import Doremi
from andrea_plugins.policies.dump import Dump
from andrea_plugins.policies.exp3 import Exp3
from andrea_plugins.policies.exp3ix import Exp3Ix
from andrea_plugins.policies.exp3s import Exp3S
from andrea_plugins.policies.fixed import Fixed
from andrea_plugins.policies.graves import Graves
from andrea_plugins.policies.learning_progress import LearningProgress
from andrea_plugins.policies.loss_softmax import LossSoftmax
from andrea_plugins.policies.mixing_law import MixingLaw
from andrea_plugins.policies.odm import Odm
from andrea_plugins.policies.proportional import Proportional
from andrea_plugins.policies.random import Random
from andrea_plugins.policies.rb import RegroupBalance
from andrea_plugins.policies.regmix import RegMix
from andrea_plugins.policies.skill_it import SkillIt
from andrea_plugins.policies.sliding_window_ucb import SlidingWindowUcb
from andrea_plugins.policies.temperature import Temperature
from andrea_plugins.policies.thompson import Thompson
from andrea_plugins.policies.tsallis_inf import TsallisInf
from andrea_plugins.policies.ucb1 import Ucb1
from andrea_plugins.policies.uniform import Uniform
from andrea_plugins.policies.unimax import UniMax

__all__ = [
    "Ado",
    "Aioli",
    "Dice",
    "DiscountedUcb",
    "Doge",
    "Doremi",
    "Dump",
    "Exp3",
    "Exp3Ix",
    "Exp3S",
    "Face",
    "Fixed",
    "Graves",
    "LearningProgress",
    "LossSoftmax",
    "MixingLaw",
    "Odm",
    "Proportional",
    "Random",
    "RegMix",
    "RegroupBalance",
    "SkillIt",
    "SlidingWindowUcb",
    "Temperature",
    "Thompson",
    "TsallisInf",
    "Ucb1",
    "UniMax",
    "Uniform",
]


@hookimpl
def andrea_policies() -> Mapping[str, type]:
    """Return the policies by the names that scenarios use."""
    return {
        "random": Random,
        "fixed": Fixed,
        "uniform": Uniform,
        "proportional": Proportional,
        "temperature": Temperature,
        "unimax": UniMax,
        "ucb1": Ucb1,
        "discounted_ucb": DiscountedUcb,
        "sliding_window_ucb": SlidingWindowUcb,
        "thompson": Thompson,
        "exp3": Exp3,
        "exp3s": Exp3S,
        "exp3ix": Exp3Ix,
        "tsallis_inf": TsallisInf,
        "odm": Odm,
        "graves": Graves,
        "learning_progress": LearningProgress,
        "dump": Dump,
        "loss_softmax": LossSoftmax,
        "doremi": Doremi,
        "skill_it": SkillIt,
        "aioli": Aioli,
        "ado": Ado,
        "doge": Doge,
        "rb": RegroupBalance,
        "regmix": RegMix,
        "mixing_law": MixingLaw,
        "dice": Dice,
    }

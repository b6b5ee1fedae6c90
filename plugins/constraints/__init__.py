"""Built-in constraint sets: floors, caps, exclude, groups, linear, anneal, epoch_cap, max_change."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.constraints.anneal import Anneal, BoundSet
from andrea_plugins.constraints.caps import Caps
from andrea_plugins.constraints.epoch_cap import EpochCap
from andrea_plugins.constraints.exclude import Exclude
from andrea_plugins.constraints.floors import Floors
from andrea_plugins.constraints.groups import GroupBound, Groups
from andrea_plugins.constraints.linear import Linear, LinearBound
from andrea_plugins.constraints.max_change import MaxChange

__all__ = [
    "Anneal",
    "BoundSet",
    "Caps",
    "EpochCap",
    "Exclude",
    "Floors",
    "GroupBound",
    "Groups",
    "Linear",
    "LinearBound",
    "MaxChange",
]


@hookimpl
def andrea_constraints() -> Mapping[str, type]:
    """Return the constraint sets by the names that scenarios use."""
    return {
        "floors": Floors,
        "caps": Caps,
        "exclude": Exclude,
        "groups": Groups,
        "linear": Linear,
        "anneal": Anneal,
        "epoch_cap": EpochCap,
        "max_change": MaxChange,
    }

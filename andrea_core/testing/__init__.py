"""For plugin authors: one conformance check a kind, and Hypothesis strategies for what plugins receive.

Each `check_...` takes a plugin as a scenario would build it and raises AssertionError with a message that says what
the contract asks for. `names` are the sources of the little world it is tried in; give those that the plugin's settings
name. The strategies (`regions`, `grouped_regions`, `regions_with_rows`, `observations`, `outcomes`, `moments`) need the
`hypothesis` package and are imported when first used.
"""

from importlib import import_module
from typing import Any

from andrea_core.testing.adjusts import check_adjust
from andrea_core.testing.constraints import check_constraint_set
from andrea_core.testing.curricula import check_curriculum
from andrea_core.testing.phases import check_phases
from andrea_core.testing.policies import check_policy
from andrea_core.testing.rewards import check_reward

__all__ = [
    "check_adjust",
    "check_constraint_set",
    "check_curriculum",
    "check_phases",
    "check_policy",
    "check_reward",
]

_STRATEGIES = {
    "regions": "andrea_core.testing.geometry",
    "grouped_regions": "andrea_core.testing.grouped",
    "regions_with_rows": "andrea_core.testing.grouped",
    "observations": "andrea_core.testing.strategies",
    "outcomes": "andrea_core.testing.strategies",
    "moments": "andrea_core.testing.strategies",
}


def __getattr__(name: str) -> Any:
    if name not in _STRATEGIES:
        raise AttributeError(f"module 'andrea_core.testing' has no attribute {name!r}")
    return getattr(import_module(_STRATEGIES[name]), name)

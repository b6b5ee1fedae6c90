"""Notes on a scenario or a run that is sound, but may not do what its author thinks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from andrea_core.plugins import Catalogue
    from andrea_core.runs.store import Run
    from andrea_core.scenario import Loaded, Scenario


def ignored_reward(loaded: "Loaded") -> str | None:
    """Return a sentence when the policy learns from a signal of its own, so that the scenario's reward moves nothing.

    The policy's traits say so: it learns (`pull` is not "none") and names no range of rewards (`reward` is None). One
    whose setting `signal` asks for the reward, or that acts through others (`faces`), may still read it.
    """
    policy = loaded.scenario.policy.component
    traits = getattr(policy, "traits", None)
    if traits is None or traits.pull == "none" or traits.reward is not None:
        return None
    if getattr(policy, "signal", None) == "reward" or hasattr(policy, "faces"):
        return None
    name = loaded.catalogue.name_of("policies", policy)
    reward = loaded.catalogue.name_of("rewards", loaded.scenario.reward)
    return f"the policy {name} learns from a signal of its own: the reward {reward} is recorded, but moves no weight"


def silent_reward(run: "Run", scenario: "Scenario", catalogue: "Catalogue") -> str | None:
    """Return a sentence when no phase of a run had a finite score for a source, though its policy learns from them."""
    import numpy as np

    traits = getattr(scenario.policy.component, "traits", None)
    if (traits is not None and traits.pull == "none") or np.isfinite(run.phases["reward"]).any():
        return None
    reward = catalogue.name_of("rewards", scenario.reward)
    policy = catalogue.name_of("policies", scenario.policy.component)
    count = len(run.phases["steps"])
    return (
        f"the reward {reward} gave no finite score in any of {count} phases: the policy {policy} learnt nothing from it"
    )

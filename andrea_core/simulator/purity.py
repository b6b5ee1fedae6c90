"""Plugins keep to their contract in a simulated run, too: states that a checkpoint could keep, answers that repeat."""

import numpy as np

from andrea_core.phase import Director, Phase, State
from andrea_core.runs.tree import prove


def started(director: Director) -> State:
    """Return the state before the first phase; raises PluginError for one that no checkpoint of a run could keep."""
    state = director.start()
    prove(state, state, "state")
    return state


def decided(director: Director, state: State) -> Phase:
    """Return the next phase, asked for a second time in the phases 1, 2, 4, 8, ...: that costs next to nothing.

    Raises PluginError when the weights differ: a policy that remembers outside of its state, or draws from a generator
    of its own, would give other numbers in another order of runs, and after a resume.
    """
    phase = director.decide(state)
    if state.phase & (state.phase - 1) == 0 and state.phase > 0:
        again = director.decide(state)
        if not np.array_equal(phase.landed.weights, again.landed.weights):
            blame = director.blame("policies", director.scenario.policy.component, state, phase.stage.name)
            raise blame.fault(
                "proposed other weights when it was asked a second time; what it remembers belongs into its state, "
                "and its draws come from the generator that it is given"
            )
    return phase

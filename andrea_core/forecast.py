"""What the floors of a plan imply before it is run: passes over each source, and what sets say to that."""

from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.contracts import ConstraintSet, Foreseeing
from andrea_core.errors import CorpusError
from andrea_core.guard import accusation, blaming
from andrea_core.plan import Plan
from andrea_core.rng import generator
from andrea_core.scenario import Loaded, Scenario
from andrea_core.values import Context, Ledger, Sources, Stage, Vector


def forecasts(plan: Plan) -> list[list[str]]:
    """Return, for each stage of a plan, what its constraint sets foresee; empty lists when none of them foresees.

    Where a curriculum reacts, a stage is taken at its longest after those before it at their shortest. Only text that
    the cache has can be counted; where it has not, one sentence says that nothing can be predicted.
    """
    everywhere = plan.scenario.constraints
    if not any(_foreseeing(everywhere, stage) for stage in plan.stages):
        return [[] for _ in plan.stages]
    epoch, problem = _epoch_tokens(plan.scenario)
    if epoch is None:
        return [[problem]] + [[] for _ in plan.stages[1:]]
    before, found = np.zeros(len(plan.sources)), []
    for index, stage in enumerate(plan.stages):  # each stage as long as it may be, those before it as short
        epochs = before + implied_epochs(plan, stage, epoch)
        sets = _foreseeing(everywhere, stage)
        found.append([line for one in sets for line in one.foresee(epochs, plan.sources)])
        shortest = attrs.evolve(stage, until=plan.borders(index).ends[0])
        before = before + implied_epochs(plan, shortest, epoch)
    return found


def implied_epochs(plan: Plan, stage: Stage, epoch: Vector) -> Vector:
    """Return the passes (K,) over each source that the floors of a stage ask for: floor * tokens trained / tokens.

    `epoch` (K,) counts the tokens of one pass. Floors are the effective ones; where they move, the mean of the first
    and the last step stands for them. Sets around the present weights do not count: they follow the walk.
    """
    scenario = plan.scenario
    fixed = [one for one in scenario.constraints if not one.around_weights]
    still = attrs.evolve(stage, constraints=tuple(one for one in stage.constraints if not one.around_weights))
    ends = [plan.region(still, step, fixed).lower for step in (stage.start, stage.until - 1)]
    tokens = scenario.sampler.rows * scenario.model.resolve().context * (stage.until - stage.start)
    epochs: Vector = np.mean(ends, axis=0) * tokens / epoch
    return epochs


def _foreseeing(constraints: Sequence[ConstraintSet], stage: Stage) -> list[Foreseeing]:
    return [one for one in (*constraints, *stage.constraints) if isinstance(one, Foreseeing)]


def _epoch_tokens(scenario: Scenario) -> tuple[Vector | None, str]:
    """Return the tokens (K,) of one pass over each source, or None and why they are not known."""
    from andrea_core.data.corpus import find_epochs

    try:
        found = find_epochs(scenario.sources, scenario.tokenizer)
    except CorpusError as error:
        return None, f"epochs cannot be predicted: {error}"
    if found is None:
        return None, "epochs cannot be predicted before the text is built: run `andrea corpus build` on this scenario"
    return np.array([found[name] for name in scenario.sources], np.float64), ""


def expected_decisions(loaded: Loaded, steps: int) -> float:
    """Return about how many phases fit into a number of steps; raises PluginError for lengths that are none."""
    count = len(loaded.scenario.sources)
    zero = np.zeros(count, np.int64)
    sources = Sources(tuple(loaded.scenario.sources), zero)
    context = Context(0, 0, "", 0, steps, sources, Ledger(zero, zero, zero.astype(float)))
    phases, rng = loaded.scenario.phases, generator(loaded.scenario.seed, "outlook")
    with blaming(accusation(loaded.catalogue, "phases", phases, 0, "")):
        return steps / float(np.mean([phases.length(context, rng) for _ in range(256)]))

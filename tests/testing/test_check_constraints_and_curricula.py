"""The checks of constraint sets and curricula, each with good and bad plugins."""

import attrs
import numpy as np
import pytest

from andrea_core import InfeasibleRegion, Region, Stage
from andrea_core.testing import check_constraint_set, check_curriculum
from andrea_plugins.constraints import Caps, Exclude, Floors
from andrea_plugins.curricula import Staged, StageSpec, Static


@attrs.frozen
class AroundWeights:
    """A legal set that depends on the present weights: no cap further than `most` above them."""

    most: float = 0.2
    around_weights = True

    def restrict(self, region, context):
        caps = np.minimum(1.0, context.weights + self.most)
        return region.restrict(caps=dict(zip(region.names, caps.tolist(), strict=True)), reason="close to the weights")


@attrs.frozen
class Widens(AroundWeights):
    def restrict(self, region, context):
        return Region.of(region.names)


@attrs.frozen
class Renames(AroundWeights):
    def restrict(self, region, context):
        return Region.of(("x", "y"))


@attrs.frozen
class Shuts(AroundWeights):
    def restrict(self, region, context):
        raise InfeasibleRegion("never anything")


@attrs.frozen
class Moody(AroundWeights):
    def restrict(self, region, context):
        return region.restrict(caps={"a": max(np.random.random(), region.upper[0] / 2, region.lower[0])})


@attrs.frozen
class Undecided(AroundWeights):
    around_weights = None


@attrs.frozen
class Unfloors(AroundWeights):
    """Drops floors without taking the sources out: `lifts_floors` does not allow that."""

    lifts_floors = True

    def restrict(self, region, context):
        return Region.of(
            region.names, exclude=[n for n, cap in zip(region.names, region.upper, strict=True) if cap == 0]
        )


@attrs.frozen
class Crashes(AroundWeights):
    def restrict(self, region, context):
        return region.restrict(caps={"zzz": 0.5})


@attrs.frozen
class CapsPairs(AroundWeights):
    """Looks at every pair of sources for a cap that all have."""

    def restrict(self, region, context):
        closest = (context.weights[:, None] + context.weights[None, :]).min()
        return region.restrict(caps=dict.fromkeys(region.names, 1.0 + 0 * closest))


@attrs.frozen
class KnowsTwo(AroundWeights):
    def restrict(self, region, context):
        return region.restrict(caps={region.names[0]: 1.0, region.names[1]: 1.0})


@pytest.mark.parametrize(
    "constraint", [Floors({"a": 0.5}), Caps({"a": 0.5, "d": 0.0}), Exclude(("a", "c")), AroundWeights()], ids=repr
)
def test_constraint_sets_that_keep_the_contract_pass(constraint):
    check_constraint_set(constraint)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (CapsPairs(), "bytes for 200 sources and .*not with its square"),
        (KnowsTwo(), r"KnowsTwo\.restrict: raised IndexError"),
        (Widens(), r"widened source '.' .* use `region\.restrict\(\.\.\.\)`, not `Region\.of"),
        (Unfloors(), "widened source"),
        (Renames(), "must return a region of the same sources"),
        (Shuts(), "leaves nothing even of the whole simplex"),
        (Moody(), "equal region and context gave another region"),
        (Undecided(), "around_weights: must be True"),
        (Crashes(), "Crashes.restrict: raised ScenarioError: cap of an unknown source 'zzz'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_constraint_sets_that_break_the_contract_are_told_how(constraint, message):
    with pytest.raises(AssertionError, match=message):
        check_constraint_set(constraint)


@attrs.frozen
class Reactive:
    """A legal curriculum: its second stage begins when the loss has been below `border` for once."""

    border: float = 3.0

    def start(self, sources):
        return -1

    def stage(self, state, step):
        return Stage("first", 0, 2**62) if state < 0 or step < state else Stage("second", state, 2**62)

    def update(self, state, outcome, findings):
        return outcome.step if state < 0 and np.nanmin(outcome.loss) < self.border else state


@attrs.frozen
class WrongBorders(Reactive):
    def stage(self, state, step):
        return Stage("odd", 10, 20)


@attrs.frozen
class Flickers(Reactive):
    def stage(self, state, step):
        return Stage(f"stage {step % 2}", 0, 2**62)


@attrs.frozen
class Unknown(Reactive):
    def stage(self, state, step):
        return Stage("s", 0, 2**62, sources=("zzz",))


@attrs.frozen
class Empty(Reactive):
    def stage(self, state, step):
        return Stage("s", 0, 2**62, sources=())


@attrs.frozen
class NoConstraint(Reactive):
    def stage(self, state, step):
        return Stage("s", 0, 2**62, constraints=("floors",))


@attrs.frozen
class NoStage(Reactive):
    def stage(self, state, step):
        return "warm-up"


@attrs.frozen
class Drifts(Reactive):
    def start(self, sources):
        return {"count": 0}

    def stage(self, state, step):
        return Stage("s", 0, 2**62)

    def update(self, state, outcome, findings):
        state["count"] += 1
        return state


@attrs.frozen
class Remembers(Reactive):
    """Keeps the phases it was told on the object, so a second run finds them there."""

    told: list = attrs.field(factory=list)

    def update(self, state, outcome, findings):
        self.told.append(outcome.phase)
        return state

    def stage(self, state, step):
        return Stage("late" if len(self.told) > 20 else "early", 0, 2**62)


@pytest.mark.parametrize(
    "curriculum",
    [Static(), Staged((StageSpec("w", 7, ("a",)), StageSpec("f", 300), StageSpec("p"))), Reactive()],
    ids=repr,
)
def test_curricula_that_keep_the_contract_pass(curriculum):
    check_curriculum(curriculum, steps=2000)


@pytest.mark.parametrize(
    ("curriculum", "message"),
    [
        (Remembers(), "keep all memory in the state|only `update` may do so|got another stage"),
        (WrongBorders(), r"step 0 got stage 'odd' of steps \[10, 20\)"),
        (Flickers(), "claims steps .* but step .* got another stage"),
        (Unknown(), "stage 's' has unknown sources zzz"),
        (Empty(), "stage 's' has no sources; name at least one"),
        (NoConstraint(), "'floors', which is no constraint set"),
        (NoStage(), "must return a Stage, got str"),
        (Drifts(), "changed the state it was given"),
        (Staged((StageSpec("only", 100),)), "leave its `until` out"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_curricula_that_break_the_contract_are_told_how(curriculum, message):
    with pytest.raises(AssertionError, match=message):
        check_curriculum(curriculum, steps=2000)

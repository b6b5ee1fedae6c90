"""What `andrea plugins new` writes: a small working plugin of each kind, and its test."""

_POLICY = '''"""CLASS: walk toward the source with the best mean reward so far."""

from typing import ClassVar

import attrs
import numpy as np
from andrea_core import Moment, Outcome, PolicyTraits, Sources, Vector, fraction, hookimpl


@attrs.frozen(eq=False)
class Means:
    """What was learnt of each source, (K,)."""

    pulls: Vector
    reward: Vector


@attrs.frozen
class CLASS:
    """Go a `step` of the way to the region's vertex of the best mean reward. Say here what paper it is from."""

    step: float = fraction(default=0.5)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[PolicyTraits] = PolicyTraits(
        reward=(-1.0, 1.0), pull="mixed", unseen="keeps its mean", equivariant=False
    )

    def start(self, sources: Sources) -> Means:
        return Means(np.zeros(len(sources)), np.zeros(len(sources)))

    def propose(self, state: Means, moment: Moment, rng: np.random.Generator) -> Vector:
        best = moment.region.vertex(state.reward / np.maximum(state.pulls, 1e-9))
        return moment.weights + self.step * (best - moment.weights)

    def update(self, state: Means, outcome: Outcome) -> Means:
        share = np.where(outcome.seen, outcome.share, 0.0)
        return Means(state.pulls + share, state.reward + share * np.clip(outcome.reward, -1e6, 1e6))


@hookimpl
def andrea_policies():
    return {"NAME": CLASS}
'''

_REWARD = '''"""CLASS: reward a source by its training loss, relative to the phase's mean."""

from typing import ClassVar

import attrs
import numpy as np
from andrea_core import Observation, RewardTraits, Scores, Sources, hookimpl, positive


@attrs.frozen
class CLASS:
    """Score each source with `gain` times its loss over the mean of all, minus 1, within [-10, 10]."""

    gain: float = positive(default=1.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    traits: ClassVar[RewardTraits] = RewardTraits(range=(-10.0, 10.0), unit="parts of the mean loss")

    def start(self, sources: Sources) -> None:
        return None

    def score(self, state: None, observation: Observation, rng: np.random.Generator) -> tuple[Scores, None]:
        loss = observation.loss_by_source()
        mean = np.nanmean(loss) if np.isfinite(loss).any() else 1.0
        return np.clip(self.gain * (loss / max(mean, 1e-9) - 1.0), -10.0, 10.0), None


@hookimpl
def andrea_rewards():
    return {"NAME": CLASS}
'''

_CONSTRAINT = '''"""CLASS: no source may have more than a given weight."""

from typing import ClassVar

import attrs
from andrea_core import Context, Region, fraction, hookimpl


@attrs.frozen
class CLASS:
    """Cap every source at `most`, or at an even share where that is more, so that weights remain."""

    most: float = fraction(default=0.9)
    around_weights: ClassVar[bool] = False

    def restrict(self, region: Region, context: Context) -> Region:
        most = max(self.most, 1.0 / max(1, int((region.upper > 0).sum())))
        return region.restrict(caps=dict.fromkeys(region.names, most), reason="NAME")


@hookimpl
def andrea_constraints():
    return {"NAME": CLASS}
'''

_CURRICULUM = '''"""CLASS: two stages, of which only the second has constraints."""

import attrs
from andrea_core import ConstraintSet, Findings, Outcome, Sources, Stage, hookimpl, span


@attrs.frozen
class CLASS:
    """Train `steps` steps freely, then under `constraints` to the end."""

    steps: int = span(default=10, at_least=1)
    constraints: tuple[ConstraintSet, ...] = ()

    def start(self, sources: Sources) -> None:
        return None

    def stage(self, state: None, step: int) -> Stage:
        if step < self.steps:
            return Stage("free", 0, self.steps)
        return Stage("bound", self.steps, 2**63 - 1, constraints=self.constraints)

    def update(self, state: None, outcome: Outcome, findings: Findings) -> None:
        return None


@hookimpl
def andrea_curricula():
    return {"NAME": CLASS}
'''

_PHASES = '''"""CLASS: phases that grow from the first to the last."""

import attrs
import numpy as np
from andrea_core import Context, hookimpl, number


@attrs.frozen
class CLASS:
    """A phase of `first` steps, and one step more in each phase, up to `most`."""

    first: int = number(default=4, at_least=1)
    most: int = number(default=40, at_least=1)

    def length(self, context: Context, rng: np.random.Generator) -> int:
        return max(1, min(self.first + context.phase, self.most))


@hookimpl
def andrea_phases():
    return {"NAME": CLASS}
'''

_ADJUST = '''"""CLASS: mix a policy's wish with the present weights."""

import attrs
import numpy as np
from andrea_core import Moment, Vector, fraction, hookimpl


@attrs.frozen
class CLASS:
    """Keep a share `inertia` of the present weights."""

    inertia: float = fraction(default=0.5)

    def adjust(self, requested: Vector, moment: Moment) -> Vector:
        mixed = np.where(moment.active, self.inertia * moment.weights + (1 - self.inertia) * requested, 0.0)
        return mixed / mixed.sum()


@hookimpl
def andrea_adjusts():
    return {"NAME": CLASS}
'''

_PROBE = '''"""CLASS: the mean training-shaped loss on held-out text."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from andrea_core import Measurement, ModelView, Sources, hookimpl, number


@attrs.frozen
class CLASS:
    """Measure `loss` (K,), nats a token on up to `tokens` held-out tokens of each source."""

    tokens: int = number(default=256, at_least=1)
    needs: ClassVar[frozenset[str]] = frozenset()

    def start(self, sources: Sources) -> None:
        return None

    def measure(self, state: None, view: ModelView, rng: np.random.Generator) -> tuple[Mapping[str, Measurement], None]:
        losses = []
        for index in range(len(view.sources)):
            windows = view.heldout(index, self.tokens)
            count = windows.shape[0] * (windows.shape[1] - 1)
            losses.append(float(view.row_losses(windows).sum()) / count if count else float("nan"))
        return {"loss": Measurement(np.array(losses))}, None


@hookimpl
def andrea_probes():
    return {"NAME": CLASS}
'''

TEMPLATES = {
    "policy": _POLICY,
    "reward": _REWARD,
    "constraint": _CONSTRAINT,
    "curriculum": _CURRICULUM,
    "phases": _PHASES,
    "adjust": _ADJUST,
    "probe": _PROBE,
}
"""The plugin files by kind; NAME and CLASS stand for the plugin's name."""

_HEAD = '''"""The plugin NAME keeps its contract."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
'''

_CHECKS = {
    "policy": "check_policy",
    "reward": "check_reward",
    "constraint": "check_constraint_set",
    "curriculum": "check_curriculum",
    "phases": "check_phases",
    "adjust": "check_adjust",
}

TEST = {
    kind: f"{_HEAD}\nfrom NAME import CLASS  # noqa: E402\nfrom andrea_core.testing import {check}  # noqa: E402\n\n\n"
    f"def test_it_keeps_the_contract():\n    {check}(CLASS())\n"
    for kind, check in _CHECKS.items()
} | {
    "probe": f"{_HEAD}\nimport pickle  # noqa: E402\n\nfrom NAME import CLASS  # noqa: E402\n\n\n"
    "def test_it_is_a_value_that_asks_for_nothing():\n    assert pickle.loads(pickle.dumps(CLASS())) == CLASS()\n"
    "    assert CLASS().start(None) is None\n    assert CLASS().needs == frozenset()\n"
}
"""The test files by kind."""

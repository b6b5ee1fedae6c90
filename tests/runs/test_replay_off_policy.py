"""Another policy walks on its own, and learns from what the recorded weights brought."""

import numpy as np
import pytest

from andrea_core.errors import RunError
from andrea_core.runs.replay import Recorded, Walk, replayed
from andrea_core.runs.replay.asked import other_scenario, own_scenario
from andrea_core.runs.replay.walk import effective, entropy
from andrea_core.runs.store import open_run

SHOWN = '''
import attrs
import numpy as np
from andrea_core import Proposal, hookimpl

@attrs.frozen
class Half:
    """Walks halfway to the last outcome's weights, and notes nothing else."""
    needs = frozenset()
    def start(self, sources): return np.zeros(len(sources))
    def propose(self, state, moment, rng):
        target = np.where(moment.active, moment.weights + state, 0)
        return Proposal(target, steps=1)
    def update(self, state, outcome): return np.array(outcome.weights)

@hookimpl
def andrea_policies(): return {"half": Half}
'''


def test_it_starts_from_its_own_weights_and_sees_the_recorded_ones(run, tmp_path):
    (tmp_path / "half.py").write_text(SHOWN)
    made = other_scenario(run, policy="half", plugins=[str(tmp_path / "half.py")])
    recorded = Recorded.of(open_run(run))
    phases = list(replayed(made, recorded, own=False))
    walk = Walk.of(recorded, phases)
    stages = recorded.decoded("stage")
    same = [i for i in range(1, len(stages)) if stages[i] == stages[i - 1]]

    assert len(phases) == len(recorded)
    assert same
    for i in same:  # neither landing nor a new region moves the point: it is a mean of two points of the region
        assert walk.weights[i] == pytest.approx((walk.weights[i - 1] + walk.recorded[i - 1]) / 2, abs=1e-12)
    assert [phase.step for phase in phases] == recorded.phases["start"].tolist()


def test_the_runs_own_policy_by_name_is_not_off_policy_and_other_settings_are(run):
    own = own_scenario(run)

    assert other_scenario(run).text == own.text
    assert other_scenario(run, policy_file=run).text == own.text
    assert other_scenario(run, settings=["policy.faces[0].share=0.5"]).text == own.text
    assert other_scenario(run, settings=["policy.faces[0].share=0.25", "policy.faces[1].share=0.75"]).text != own.text


def test_every_replayed_weight_is_in_the_region_of_its_phase(run):
    recorded = Recorded.of(open_run(run))
    made = other_scenario(run, policy="random", settings=["seed=99"])
    for phase in replayed(made, recorded, own=False):
        weights, lower, upper = (phase.arrays[name] for name in ("weights", "lower", "upper"))
        assert ((weights >= lower) & (weights <= upper)).all()
        assert lower.tolist() == recorded.phases["lower"][phase.phase].tolist()


def test_a_need_that_was_not_recorded_is_refused(run):
    recorded = Recorded.of(open_run(run))

    with pytest.raises(RunError, match=r"the reward 'heldout_gain' needs heldout, which this run did not record"):
        list(replayed(other_scenario(run, settings=["reward.use=heldout_gain"]), recorded, own=False))


def test_distance_entropy_and_effective_sources_have_their_textbook_values():
    weights = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    walk = Walk(
        ("a", "b", "c"), np.arange(3), np.array([1, 1, 2]), ("s",) * 3, ("p",) * 3, weights, weights, weights[::-1]
    )

    assert entropy(weights) == pytest.approx([np.log(2), 0.0, np.log(3)])
    assert effective(weights) == pytest.approx([2.0, 1.0, 3.0])
    assert walk.distance == pytest.approx([1 / 3, 0.0, 1 / 3])
    assert walk.mean(walk.distance) == pytest.approx(1 / 4)

"""Every policy and reward: two resumes from any steps, also inside a phase, give the uninterrupted run bit for bit."""

import itertools
import os
import random
import signal
import sys
import tomllib
import traceback
from zlib import crc32

import attrs
import numpy as np
import pytest
from cut_runs import assert_same_contents, contents
from hypothesis import HealthCheck, given, settings, strategies as st

from andrea_core.assembly import new_run, resumed_run
from andrea_core.experiment import Interrupted
from andrea_core.plugins import Catalogue
from andrea_core.progress import Progress
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.store import open_run
from andrea_core.scenario import load_resolved, loaded

NAMES = ("birds", "clocks", "ships")
STEPS, BORDERS = 16, (4, 9, 14, 16)
TINY = """
name = "resumed"
seed = 5
run = { steps = 16, checkpoint_every = 100, keep_checkpoints = 9 }
model = { layers = 1, heads = 1, width = 8, context = 8 }
sampler = { rows = 3 }
phases = { use = "fixed", steps = 5 }
policy = { use = "ucb1" }
reward = { use = "improvement" }

[curriculum]
use = "staged"
[[curriculum.stages]]
name = "warmup"
until = 4
sources = ["birds", "ships"]
[[curriculum.stages]]
name = "all"
"""
CUTS = [cuts for cuts in itertools.combinations(range(1, STEPS), 2) if cuts[0] not in BORDERS]
"""Where a run is stopped for the first and the second time: the first time always inside a phase."""

LOSSES = {"birds": 5.0, "clocks": 5.1, "ships": 5.2}
FIRST = {
    "policies": {
        "dice": {"faces": [{"share": 0.5, "policy": {"use": name}, "name": name} for name in ("thompson", "exp3")]},
        "doremi": {"reference": LOSSES},
        "fixed": {"weights": {"birds": 0.2, "clocks": 0.3, "ships": 0.5}},
        "mixing_law": {"tables": ["pilots.csv"]},
        "regmix": {"tables": ["pilots.csv"], "regressor": "linear", "draws": 200, "best": 8},
        "unimax": {"budget": 100_000},
    },
    "rewards": {
        "excess_loss": {"reference": LOSSES},
        "probe": {"name": "heldout", "measurement": "bits_per_byte"},
    },
}
"""Settings of the components that cannot do without: a new one with a required setting has to be named here."""

CATALOGUE = Catalogue.of()
POLICIES, REWARDS = (list(CATALOGUE.table[kind]) for kind in ("policies", "rewards"))
RUNS: dict[tuple[str, str], object] = {}


class StopAt(Progress):
    """Asks a run to stop after a step, as a signal would."""

    def __init__(self, step):
        self.step, self.experiment = step, None

    def stepped(self, step):
        if step == self.step:
            self.experiment.ask_to_stop(signal.SIGINT)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    words = [
        "wren",
        "hedge",
        "brig",
        "wind",
        "clock",
        "sails",
        "sings",
        "hears",
        "old",
        "while",
        "before",
        "nobody",
        "a",
    ]
    rng = random.Random(7)
    for name in NAMES:
        for number in range(12):
            text = " ".join([name, *rng.sample(words, 12), str(number)] * 2)
            (folder / f"{name}-{number:02d}.txt").write_text(text, encoding="utf-8")
    mixtures = np.random.default_rng(3).dirichlet(np.ones(len(NAMES)), 12)
    columns = [f"weight.{name}" for name in NAMES] + [f"loss.{name}" for name in NAMES]
    rows = np.hstack([mixtures, 5 + np.exp(-2 * mixtures)])
    np.savetxt(folder / "pilots.csv", rows, delimiter=",", header=",".join(columns), comments="")
    made, out = scenario_of(folder, "uniform", "loss"), tmp_path_factory.mktemp("warm") / "run"
    train(
        lambda progress: (new_run(made, out, progress, device="cpu", threads=1), None)
    )  # children inherit the imports
    return folder


def scenario_of(folder, policy, reward):
    sources = {name: {"use": "text", "files": [str(folder / f"{name}-*.txt")]} for name in NAMES}
    planned = FIRST["policies"].get(policy, {})
    if "tables" in planned:
        planned = planned | {"tables": [str(folder / name) for name in planned["tables"]]}
    tables = {
        "policy": {"use": policy} | planned,
        "reward": {"use": reward} | FIRST["rewards"].get(reward, {}),
    }
    if reward == "probe":
        tables["probes"] = [{"use": "heldout", "tokens": 16, "every": 1}]
    return loaded({**tomllib.loads(TINY), "sources": sources, **tables}, CATALOGUE, str)


def in_child(work):
    """Do some work in a process of its own, so that nothing that a plugin keeps outside its state can help it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def train(make, until=None):
    """Train a new or resumed run to its end, or until it is stopped after a step."""
    progress = StopAt(until)
    experiment, step = make(progress)
    progress.experiment = experiment
    try:
        if until is None:
            experiment.run(step)
        else:
            with pytest.raises(Interrupted, match=rf"step {until}\b"):
                experiment.run(step)
    finally:
        experiment.folder.release()


def uninterrupted(texts, folder, policy, reward):
    """Return the folder of the run that is never stopped; it is trained once."""
    if (policy, reward) not in RUNS:
        made = scenario_of(texts, policy, reward)
        out = folder.mktemp("whole") / "run"
        in_child(lambda: train(lambda progress: (new_run(made, out, progress, device="cpu", threads=1), None)))
        RUNS[policy, reward] = out
    return RUNS[policy, reward]


def stopped_twice(texts, folder, policy, reward, cuts):
    made = scenario_of(texts, policy, reward)
    out = folder.mktemp("cut") / "run"
    in_child(lambda: train(lambda progress: (new_run(made, out, progress, device="cpu", threads=1), None), cuts[0]))
    in_child(lambda: train(lambda progress: resumed_run(out, progress), cuts[1]))
    in_child(lambda: train(lambda progress: resumed_run(out, progress)))
    return out


def check_cuts(texts, folder, policy, reward, cuts):
    whole = uninterrupted(texts, folder, policy, reward)
    one, other = contents(whole, STEPS), contents(stopped_twice(texts, folder, policy, reward, cuts), STEPS)
    assert_same_contents(one, other)


def check_replay(run):
    recorded = Recorded.of(open_run(run))
    verdict = verdict_of(recorded, replayed(load_resolved(run / "scenario.toml"), recorded, own=True))
    assert (verdict.first, verdict.phases, verdict.differing) == (None, len(BORDERS), 0)


def rotated(name, place):
    """Return a pair of cuts: the first that is tried depends on the component, so that the suite tries many."""
    return CUTS[(crc32(name.encode()) + place) % len(CUTS)]


places = st.integers(0, len(CUTS) - 1)
unhurried = settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
everything = pytest.mark.parametrize(
    ("policy", "reward"),
    [*((policy, "improvement") for policy in POLICIES), *(("exp3", reward) for reward in REWARDS)],
)


@pytest.mark.parametrize("kind", FIRST)
def test_every_component_with_a_required_setting_has_it_in_the_table_above(kind):
    for name, registration in CATALOGUE.table[kind].items():
        required = {field.alias for field in attrs.fields(registration.cls) if field.default is attrs.NOTHING}
        assert required <= FIRST[kind].get(name, {}).keys(), f"name settings for {name}: {sorted(required)}"


@everything
@unhurried
@given(place=places)
def test_two_resumes_from_inside_phases_change_no_bit(texts, tmp_path_factory, policy, reward, place):
    check_cuts(texts, tmp_path_factory, policy, reward, rotated(policy + reward, place))


@everything
def test_a_replay_comes_to_the_recorded_weights_bit_for_bit(texts, tmp_path_factory, policy, reward):
    run = uninterrupted(texts, tmp_path_factory, policy, reward)

    in_child(lambda: check_replay(run))


@pytest.mark.slow
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("policy", POLICIES)
@settings(unhurried, max_examples=4)
@given(place=places)
def test_two_resumes_change_no_bit_under_any_pair_of_policy_and_reward(texts, tmp_path_factory, policy, reward, place):
    check_cuts(texts, tmp_path_factory, policy, reward, rotated(policy + reward, place))


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_two_resumes_change_no_bit_wherever_the_run_is_cut(texts, tmp_path_factory, cuts):
    check_cuts(texts, tmp_path_factory, "dice", "improvement", cuts)

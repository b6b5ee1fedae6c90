"""The planners: on worlds whose law is known they recover it, and its optimum in any region."""

import csv
import importlib.util
import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from andrea_core import PluginError, Region, ScenarioError, total_variation
from andrea_core.testing import check_policy
from andrea_core.testing.worlds import make_moment, make_sources
from andrea_plugins.policies import MixingLaw, RegMix
from andrea_plugins.policies.descent import minimiser
from andrea_plugins.policies.mixing_law import fit
from andrea_plugins.policies.regmix import simulated
from andrea_plugins.policies.regressors import features, ridge

NAMES = ("a", "b", "c", "d")
SOURCES = make_sources(NAMES)
FLOORS = np.array([1.0, 1.2, 0.8, 1.5])
SLOPES = np.array([[-2.0, 0.2, 0.1, 0.4], [0.3, -1.5, 0.5, 0.2], [0.0, 0.1, -1.0, 0.3], [0.5, 0.4, 0.1, -2.5]])
WHOLE = Region.of(NAMES)
CUT = Region.of(NAMES, floors={"a": 0.3}, caps={"b": 0.2}, exclude=["c"])
TREES = importlib.util.find_spec("lightgbm") is not None
needs_trees = pytest.mark.skipif(not TREES, reason="needs the extra `planner`")


def true_losses(weights):
    return FLOORS + np.exp(weights @ SLOPES.T)


def optimum(region):
    """The weights of the least mean true loss, by another solver."""
    start = region.centre
    found = minimize(
        lambda w: true_losses(w).mean(),
        start,
        bounds=list(zip(region.lower, region.upper, strict=True)),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def write_table(path, count, noise=0.0, seed=0, losses=NAMES):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(4, 0.7), count)
    measured = true_losses(weights) + noise * rng.standard_normal((count, 4))
    header = [*(f"weight.{name}" for name in NAMES), *(f"loss.{name}" for name in losses)]
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(header)
        writer.writerows(
            [*w, *(loss[NAMES.index(name)] for name in losses)] for w, loss in zip(weights, measured, strict=True)
        )
    return (str(path),)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "pilots.csv", 60)


def planned(policy, region):
    """What a policy proposes in a region at the start of a run."""
    moment = make_moment(SOURCES, 0, region, region.centre, np.random.default_rng(0))
    answer = policy.propose(policy.start(SOURCES), moment, np.random.default_rng(0))
    return answer.target, answer.notes


def test_the_mixing_law_recovers_floors_slopes_and_losses(table):
    law = MixingLaw(tables=table).start(SOURCES)

    assert law.floor == pytest.approx(FLOORS, abs=1e-5)
    assert law.slopes == pytest.approx(SLOPES, abs=1e-4)


@pytest.mark.parametrize("region", [WHOLE, CUT], ids=["whole", "cut"])
def test_the_mixing_law_proposes_the_optimum_of_the_region(table, region):
    target, notes = planned(MixingLaw(tables=table), region)

    assert target == pytest.approx(optimum(region), abs=1e-4)
    assert region.check(target) == []
    assert notes["foreseen"] == pytest.approx(true_losses(target), abs=1e-5)


def test_a_target_of_one_source_seeks_that_sources_least_loss(table):
    target, _ = planned(MixingLaw(tables=table, target={"d": 1.0}), WHOLE)

    assert target == pytest.approx([0, 0, 0, 1], abs=1e-9)


def test_a_strong_divergence_keeps_the_proposal_at_the_mean_pilot(table):
    policy = MixingLaw(tables=table, kl=1e4)
    prior = policy.start(SOURCES).prior

    assert planned(policy, WHOLE)[0] == pytest.approx(prior, abs=1e-3)
    near, far = (total_variation(planned(MixingLaw(tables=table, kl=kl), WHOLE)[0], prior) for kl in (0.5, 0.01))
    assert near < far


def test_a_law_of_noisy_losses_still_finds_a_mixture_close_to_the_best(tmp_path):
    target, _ = planned(MixingLaw(tables=write_table(tmp_path / "p.csv", 80, noise=0.02)), WHOLE)
    best, even = (true_losses(w).mean() for w in (optimum(WHOLE), np.full(4, 0.25)))

    assert true_losses(target).mean() - best < 0.1 * (even - best)


def test_a_fit_of_one_loss_is_the_least_squares_optimum():
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(3), 30)
    losses = 2.0 + np.exp(weights @ [0.5, -1.0, 0.2]) + 0.05 * rng.standard_normal(30)
    floor, slopes = fit(weights, losses)
    error = ((floor + np.exp(weights @ slopes) - losses) ** 2).sum()

    for _ in range(50):
        other = slopes + 0.05 * rng.standard_normal(3)
        basis = np.exp(weights @ other)
        assert ((losses - basis) - (losses - basis).mean()) @ (
            (losses - basis) - (losses - basis).mean()
        ) >= error - 1e-9


@pytest.mark.parametrize("regressor", ["quadratic", pytest.param("lightgbm", marks=needs_trees)])
@pytest.mark.parametrize("region", [WHOLE, CUT], ids=["whole", "cut"])
def test_regmix_recovers_the_optimum_of_a_known_world(tmp_path, regressor, region):
    policy = RegMix(tables=write_table(tmp_path / "p.csv", 256), regressor=regressor, draws=20_000)
    target, _ = planned(policy, region)
    best = true_losses(optimum(region)).mean()
    drawn = true_losses(region.sample(np.random.default_rng(5), 1000)).mean(axis=1)

    assert region.check(region.project(target)) == []
    assert region.offence(target) < 1e-9
    assert true_losses(target).mean() - best < 0.05 * (drawn.mean() - best)


def test_the_better_regression_foresees_better(tmp_path):
    table = write_table(tmp_path / "p.csv", 100)
    fresh = np.random.default_rng(9).dirichlet(np.ones(4), 500)
    errors = [
        np.abs(RegMix(tables=table, regressor=kind).start(SOURCES).model.predict(fresh) - true_losses(fresh)).max()
        for kind in ("quadratic", "linear")
    ]

    assert errors[0] < 0.3 * errors[1]


def test_a_plan_is_the_same_whenever_the_region_is_and_follows_the_region(table):
    policy = RegMix(tables=table, regressor="quadratic", draws=2000)
    first, again, other = (planned(policy, region)[0] for region in (WHOLE, Region.of(NAMES), CUT))

    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    assert other[2] == 0


def test_simulated_mixtures_lie_in_the_region_and_reach_its_corners():
    drawn = simulated(CUT, np.full(4, 0.25), 4000, np.random.default_rng(0))

    assert max(CUT.offence(w) for w in drawn) < 1e-9
    assert drawn[:, 3].max() > 0.65  # of 0.7 at most
    assert drawn[:, 3].min() < 0.51


def test_ridge_without_noise_finds_a_quadratic_exactly():
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(4), 200)
    made = features("quadratic", weights)
    truth = 1.0 + weights @ [1.0, 2.0, 3.0, 4.0] + weights[:, 0] * weights[:, 1]

    assert made @ ridge(made, truth) == pytest.approx(truth, abs=1e-4)


def test_the_minimiser_meets_the_conditions_of_optimality_on_random_problems():
    rng = np.random.default_rng(3)
    for _ in range(20):
        centre = rng.dirichlet(np.ones(4)) + 0.3 * rng.standard_normal(4)
        scale = rng.uniform(0.1, 10, 4)
        point = minimiser(lambda w, s=scale, c=centre: (0.5 * s @ (w - c) ** 2, s * (w - c)), CUT, CUT.centre)
        pull = scale * (point - centre)
        assert pull @ (CUT.vertex(-pull) - point) > -1e-8


@pytest.mark.parametrize(
    "make",
    [
        lambda t: MixingLaw(tables=t),
        pytest.param(lambda t: RegMix(tables=t, regressor="quadratic", draws=200, best=8), marks=pytest.mark.slow),
    ],
)
def test_planners_keep_the_contract(table, make):
    check_policy(make(table), names=NAMES)


@pytest.mark.slow
@needs_trees
def test_a_planner_of_trees_keeps_its_trees_in_a_state_that_a_checkpoint_holds(table):
    check_policy(RegMix(tables=table, draws=200, best=8), names=NAMES)


def test_a_pilot_that_is_missing_wrong_or_of_other_sources_is_refused_in_one_sentence(tmp_path):
    short = write_table(tmp_path / "short.csv", 5)
    part = write_table(tmp_path / "part.csv", 60, losses=("a", "b"))
    bad = tmp_path / "bad.csv"
    bad.write_text("weight.a,weight.e,loss.a\n0.5,0.5,1\n", encoding="utf-8")
    words = tmp_path / "words.csv"
    words.write_text("weight.a,loss.a\nmuch,1\n", encoding="utf-8")
    for policy, message in (
        (MixingLaw(), "there is no pilot; give `runs`"),
        (MixingLaw(tables=(str(tmp_path / "no-*.csv"),)), "nothing matches"),
        (MixingLaw(tables=short), "5 pilots cannot settle 5 numbers a loss; give at least 6"),
        (MixingLaw(tables=part, target={"c": 1.0}), "target names 'c', whose loss not every pilot has"),
        (RegMix(tables=short), "5 pilots are too few for the regressor 'lightgbm'.*or set regressor"),
        (RegMix(tables=(str(bad),), regressor="linear"), "no source is called 'e'"),
        (RegMix(tables=(str(words),), regressor="linear"), r"column weight\.a: 'much' is not a number"),
        (RegMix(runs=(str(tmp_path),), regressor="linear"), "this is not a run folder"),
    ):
        with pytest.raises(ScenarioError, match=message):
            policy.start(SOURCES)


def test_without_lightgbm_the_error_says_what_to_install(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(PluginError, match=r"install it with `pip install 'andrea\[planner\]'`, or set regressor"):
        RegMix(tables=table).start(SOURCES)


MALFORMED = {
    "": r"pilots\.csv is empty; its first line names columns `weight\.SOURCE` and `loss\.SOURCE`",
    "\n\n": "is empty",
    "weight.a,loss.a\n": "names columns but has no row under them; add a row for each pilot",
    "a,b\n1,2\n": r"has no column `weight\.SOURCE`; its first line must name columns",
    "weight.a,weight.b\n1,0\n": r"has no column `loss\.SOURCE`",
    "weight.a,loss.a,loss.a\n1,2,3\n": r"names the column 'loss\.a' twice; keep one",
    "weight.a,loss.a\n1,2\n1\n": "row 2 has 1 cells under 2 columns; give one cell for each column",
    "weight.a,loss.a\n1,2,3\n": "row 1 has 3 cells under 2 columns",
    "weight.a,loss.a\n1,\n": r"row 1, column loss\.a: '' is not a number; write one, or nan",
    "weight.a,loss.a\n1,2\nmany,2\n": r"row 2, column weight\.a: 'many' is not a number",
    "weight.a,loss.a\n-1,2\n": "row 1: its weights are not finite, not negative and not all 0",
    "weight.a;loss.a\n1;2\n": r"has no column `loss\.SOURCE`",
}


@pytest.mark.parametrize("policy", [MixingLaw, RegMix])
@pytest.mark.parametrize("text", MALFORMED, ids=repr)
def test_a_table_that_is_empty_or_malformed_is_refused_with_its_place_and_the_remedy(tmp_path, policy, text):
    path = tmp_path / "pilots.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=MALFORMED[text]) as refused:
        policy(tables=(str(path),)).start(SOURCES)

    assert str(path) in str(refused.value)


def test_a_table_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "pilots.csv"
    path.write_bytes(b"\xff\xfe\x00weight")
    with pytest.raises(ScenarioError, match=r"cannot be read as CSV: .*; write commas between cells, in UTF-8"):
        RegMix(tables=(str(path),)).start(SOURCES)


def test_a_byte_order_mark_and_blank_lines_are_read_over(tmp_path):
    path, marked = tmp_path / "pilots.csv", tmp_path / "marked.csv"
    plain = MixingLaw(tables=write_table(path, 12)).start(SOURCES)
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\r\n\r\n"))

    assert MixingLaw(tables=(str(marked),)).start(SOURCES).slopes == pytest.approx(plain.slopes)

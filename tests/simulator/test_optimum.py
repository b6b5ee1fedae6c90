"""The optimum: a certificate that holds, agreement with brute force and with SciPy, and mixes without order."""

import attrs
import numpy as np
import pytest
from scipy.optimize import minimize

from andrea_core.scenario import load
from andrea_core.simplex import Region
from andrea_core.simulator.optimum import Piece, pieces_of, reached, solve
from andrea_core.simulator.simulation import Simulation
from andrea_core.simulator.verdict import first_at, grain, held, mean_weights, uniform, verdict

NAMES = ("a", "b", "c")


def pieces(truth, *regions, steps=100, tokens=32):
    gains = truth.transfer / truth.unit * tokens * steps
    return tuple(Piece(f"s{i}", i * steps, (i + 1) * steps, region, gains) for i, region in enumerate(regions))


@pytest.mark.parametrize("seed", range(8))
def test_no_point_of_a_fine_grid_beats_the_optimum_by_more_than_its_gap(make, seed):
    truth = make(seed=seed)
    parts = pieces(truth, Region.of(NAMES, floors={"a": 0.2}, caps={"b": 0.3}))
    best = solve(truth, parts)
    ticks = np.linspace(0, 1, 101)
    grid = [np.array([x, y, 1 - x - y]) for x in ticks for y in ticks if x >= 0.2 and y <= 0.3 and x + y <= 1 + 1e-12]

    assert best.gap < 1e-6
    assert min(reached(truth, parts, point[None]) for point in grid) >= best.loss - best.gap
    assert best.pieces[0].region.contains(best.weights[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_two_stages_is_scipys(make, seed):
    truth = make(seed=seed)
    parts = pieces(truth, Region.of(NAMES, exclude=("b",)), Region.of(NAMES, floors={"c": 0.4}))
    best = solve(truth, parts)
    bounds = [(0, 1), (0, 0), (0, 1), (0, 1), (0, 1), (0.4, 1)]
    sums = [{"type": "eq", "fun": lambda x, i=i: x[3 * i : 3 * i + 3].sum() - 1} for i in (0, 1)]
    found = minimize(
        lambda x: reached(truth, parts, x.reshape(2, 3)),
        uniform(parts).ravel(),
        bounds=bounds,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )

    assert best.loss <= found.fun + 1e-7
    assert best.loss == pytest.approx(found.fun, abs=1e-5)


def test_the_gap_is_an_honest_bound_on_what_a_poor_answer_still_lacks(make):
    truth = make(seed=3)
    parts = pieces(truth, Region.of(NAMES))
    poor, best = solve(truth, parts, rounds=1), solve(truth, parts)

    assert poor.loss > best.loss
    assert poor.loss - poor.gap <= best.loss


def test_a_run_lies_between_the_optimum_and_its_certificate_allows(staged):
    simulation = Simulation.of(load(staged), "transfer")
    parts = pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step)
    best = solve(simulation.truth, parts)

    assert [part.stage for part in parts] == ["warmup", "polish"]
    assert parts[0].region.upper.tolist() == [1, 0, 1]
    assert simulation.run().final >= best.loss - best.gap - 1e-3  # rows are whole: the last few may do a little better


@pytest.mark.parametrize("name", ["transfer", "noise"])
def test_without_forgetting_a_mix_is_worth_the_same_in_any_order(staged, name):
    simulation = Simulation.of(load(staged), name)
    parts = pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step)
    trace = simulation.run()
    found = verdict(simulation.truth, solve(simulation.truth, parts), trace)

    assert found.static_regret == pytest.approx(found.regret, abs=2e-3)
    assert held(parts, mean_weights(trace))[0] == pytest.approx(mean_weights(trace)["warmup"])


@pytest.mark.parametrize("name", ["forgetting", "change_points", "transfer"])
def test_a_closed_form_of_fixed_weights_is_what_a_simulation_of_them_ends_with(staged, name):
    simulation = Simulation.of(load(staged, settings=["policy={use='uniform'}"]), name)
    parts = pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step)

    assert simulation.run().final == pytest.approx(reached(simulation.truth, parts, uniform(parts)), abs=3e-3)


@pytest.mark.parametrize("half_life", [None, 0.05, 1000.0])
@pytest.mark.parametrize("rows", [4, 7])
def test_uniform_weights_reach_what_uniform_weights_end_with(little, half_life, rows):
    settings = ('policy={use="uniform"}', f"sampler.rows={rows}")
    simulation = Simulation.of(load(little, settings=settings), "transfer")
    retention = 1.0 if half_life is None else 0.5 ** (1 / (half_life * 300))
    truth = attrs.evolve(simulation.truth, retention=retention)
    simulation = attrs.evolve(simulation, truth=truth, learner=attrs.evolve(simulation.learner, truth=truth))
    optimum = solve(truth, pieces_of(simulation.loaded, truth, simulation.tokens_per_step))
    trace = simulation.run()

    assert verdict(truth, optimum, trace).steps_to_target is not None
    assert grain(truth, optimum.pieces, trace) < 0.02 * (trace.mean[0] - trace.final)
    assert trace.final < verdict(truth, optimum, trace).target + grain(truth, optimum.pieces, trace)


def test_what_ends_farther_from_the_target_than_rows_explain_never_reached_it():
    mean = np.array([3.0, 2.0, 1.5])

    assert first_at(mean, 2.0, 0.0) == 1
    assert first_at(mean, 1.4, 0.11) == 2
    assert first_at(mean, 1.4, 0.09) is None

"""No run ends below the optimum that it is held to, whatever moved its stages and bounds."""

import numpy as np
import pytest

from andrea_core.scenario import load
from andrea_core.simulator.optimum import pieces_of, solve
from andrea_core.simulator.simulation import Simulation
from andrea_core.simulator.verdict import verdict
from andrea_core.simulator.walked import judged, walked_pieces

WHOLE_ROWS = 5e-4
"""What rows being whole may give a run: two rows of 1,200."""

REACTIVE = """
[curriculum]
use = "reactive"
[[curriculum.stages]]
name = "good"
at_least = 10
at_most = 280
sources = ["ships"]
plateau = { fall = 0.0001, over = 30 }
[[curriculum.stages]]
name = "poor"
sources = ["birds"]
"""
ANNEAL = """
[curriculum]
use = "static"
[[constraints]]
use = "anneal"
before = { floors = { birds = 0.9 } }
after = { floors = { ships = 0.9 } }
start = 0
steps = 300
"""


@pytest.fixture(params=["reactive", "anneal"])
def moving(little, tmp_path, request):
    text = {"reactive": REACTIVE, "anneal": ANNEAL}[request.param]
    path = tmp_path / "moving.toml"
    path.write_text(little.read_text().replace('curriculum = { use = "static" }\n', "") + text, encoding="utf-8")
    return path


def regrets(path, truth, seed=None, settings=()):
    simulation = Simulation.of(load(path, seed=seed, settings=settings), truth)
    planned = solve(simulation.truth, pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step))
    trace = simulation.run()
    held = judged(simulation, planned, trace)
    return verdict(simulation.truth, held, trace).regret + held.gap


@pytest.mark.parametrize("truth", ["transfer", "forgetting", "change_points"])
def test_no_run_ends_below_its_optimum_but_by_whole_rows(moving, truth):
    for seed in range(3):
        for policy in ("ucb1", "uniform", "random"):
            assert regrets(moving, truth, seed, [f"policy={{use='{policy}'}}"]) >= -WHOLE_ROWS


@pytest.mark.parametrize("moving", ["anneal"], indirect=True)
def test_weights_that_lean_on_one_source_do_not_end_below_it_either(moving):
    for name in ("birds", "clocks", "ships"):
        lean = {other: 0.98 if other == name else 0.01 for other in ("birds", "clocks", "ships")}
        best = ["policy={use='fixed', weights={" + ", ".join(f"{k}={v}" for k, v in lean.items()) + "}}"]
        assert regrets(moving, "transfer", 0, best) >= -WHOLE_ROWS


def test_a_run_that_came_as_planned_keeps_the_planned_optimum(staged):
    simulation = Simulation.of(load(staged), "change_points")
    planned = solve(simulation.truth, pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step))

    assert judged(simulation, planned, simulation.run()) is planned


def test_the_pieces_of_a_walk_hold_every_weight_of_it(moving):
    simulation = Simulation.of(load(moving), "transfer")
    trace = simulation.run()
    pieces = walked_pieces(simulation.loaded, simulation.truth, simulation.tokens_per_step, trace)
    starts = np.cumsum(trace.steps) - trace.steps

    assert (pieces[0].start, pieces[-1].until) == (0, 300)
    for piece in pieces:
        inside = (starts >= piece.start) & (starts < piece.until)
        assert (trace.weights[inside] >= piece.region.lower - 1e-9).all()
        assert (trace.weights[inside] <= piece.region.upper + 1e-9).all()

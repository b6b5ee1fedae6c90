"""Edge of stability: gradient descent at 2/eta, Adam at 38/eta, and Adam's first steps with and without warm-up."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea_core import Budget, Objective, extreme_eigenpairs, open_run, standard_normal

pytestmark = pytest.mark.study

ROOT = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2]))
BETA1, BETA2, EPS = 0.9, 0.999, 1e-8
WARMUP = 300
X = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
Y = 16 * X**5 - 20 * X**3 + 5 * X
"""Chebyshev's polynomial of degree 5 at 20 points."""
SETTLED = 2000
"""Gradient-flow time, steps times rate, after which the swing about the edge has died away at every rate."""


def network():
    """Return the parameters of a network 1-50-50-1, drawn as PyTorch's linear layers are."""
    draw, parameters = torch.Generator().manual_seed(0), {}
    for layer, (rows, columns) in enumerate([(50, 1), (50, 50), (1, 50)]):
        for name, shape in ((f"w{layer}", (rows, columns)), (f"b{layer}", (rows,))):
            drawn = torch.rand(shape, generator=draw, dtype=torch.float64) * 2 - 1
            parameters[name] = (drawn / columns**0.5).requires_grad_()
    return parameters


def total(p):
    """Return half the summed squared error."""
    hidden = torch.tanh(torch.tanh(X @ p["w0"].T + p["b0"]) @ p["w1"].T + p["b1"])
    return ((hidden @ p["w2"].T + p["b2"] - Y) ** 2).sum() / 2


def largest(objective, root):
    """Return the largest eigenvalue of the Hessian between two factors `root`, (n,) or 1."""
    hessian, rng = objective.hessian(), np.random.default_rng(0)
    start = standard_normal(objective.size, rng).to(objective.point())
    found = extreme_eigenpairs(
        lambda v: root * hessian(root * v),
        start,
        largest=1,
        smallest=False,
        tolerance=1e-3,
        budget=Budget(80),
        rng=rng,
    )
    assert found.status == "ok"
    return float(found.values[0])


def descent(rate, steps, every=100, last=10):
    """Return lambda eta / 2 at the last so many readings of full-batch gradient descent."""
    p, readings = network(), []
    for step in range(1, steps + 1):
        slopes = torch.autograd.grad(total(p) / 20, list(p.values()))
        with torch.no_grad():
            for one, slope in zip(p.values(), slopes, strict=True):
                one -= rate * slope
        if step > steps - last * every and step % every == 0:
            readings.append(largest(Objective(p, [total], 20), 1.0) * rate / 2)
    return np.array(readings)


def root_of(optimiser, parameters):
    """Return P^(-1/2) of Adam's preconditioner, (n,)."""
    pieces = []
    for one in parameters:
        kept = optimiser.state[one]
        steps = float(kept["step"])
        size = (kept["exp_avg_sq"] / (1 - BETA2**steps)).sqrt() + EPS
        pieces.append((size * (1 - BETA1**steps)).reshape(-1))
    return torch.cat(pieces).rsqrt()


def adam(rate, steps, every=100, last=10):
    """Return the preconditioned sharpness over 38 / eta at the last so many readings of full-batch Adam."""
    p, readings = network(), []
    optimiser = torch.optim.Adam(p.values(), lr=rate, betas=(BETA1, BETA2), eps=EPS)
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        (total(p) / 20).backward()
        optimiser.step()
        if step > steps - last * every and step % every == 0:
            readings.append(largest(Objective(p, [total], 20), root_of(optimiser, p.values())) * rate / 38)
    return np.array(readings)


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 5], ids="seed {}".format)
def pair(request, tmp_path_factory):
    """Return the runs of scenarios/edge.toml without warm-up and with its own, from the same seed."""
    folder = tmp_path_factory.mktemp("edge")
    for warmup in (0, WARMUP):
        arguments = [ROOT / "scenarios" / "edge.toml", "--threads", 1, "--seed", request.param]
        arguments += ["--set", f"optimizer.warmup={warmup}", "--out", folder / str(warmup)]
        command = [sys.executable, "-m", "andrea_core", "run", *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return open_run(folder / "0"), open_run(folder / str(WARMUP))


def early(run):
    """Return the ratio to Adam's edge of each of the first 30 steps: its rate, preconditioner and batch.

    The probe's own `ratio` has the rate of the step that comes next: after the first of a warm-up, the double.
    """
    table = run.probes["adam_sharpness"]
    assert list(table["step"][:30]) == list(range(1, 31))
    assert table["products"].max() < 60  # none was stopped by its budget
    return table["largest"][:30] * run.steps["lr"][:30] / 38


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.4])
def test_gradient_descent_hovers_at_two_over_the_rate(rate):
    """Step s of rate eta is gradient flow at time eta s: all rates are read at one time, not after equal steps.

    Early on the sharpness swings about 2 / eta: it is pushed up, and the growing oscillation pushes it down (Damian,
    Nichani, Lee 2023, arXiv 2209.15594). The swing dies away as the push does; at 0.1, 3,000 steps are in its midst.
    """
    readings = descent(rate, round(SETTLED / rate))

    assert abs(readings - 1).max() <= 0.05


@pytest.mark.parametrize(("rate", "steps"), [(3e-3, 2000), (1e-3, 2500), (3e-4, 5000)])
def test_adam_hovers_at_38_over_the_rate(rate, steps):
    readings = adam(rate, steps)

    assert readings.min() >= 0.85
    assert readings.max() <= 1.1


def test_the_two_runs_differ_in_the_warm_up_alone(pair):
    without, warmed = pair

    assert without.steps["loss"][0] == warmed.steps["loss"][0]
    np.testing.assert_array_equal(without.evals["bits_per_byte"][0], warmed.evals["bits_per_byte"][0])
    np.testing.assert_array_equal(without.steps["row_source"], warmed.steps["row_source"])


def test_without_warm_up_the_first_step_is_ten_times_beyond_the_edge_and_with_it_all_of_thirty_lie_below(pair):
    without, warmed = map(early, pair)

    assert without[0] > 10
    assert warmed.max() < 1

"""Curvature beside other libraries: curvature [accuracy] [cost], the largest eigenvalue's error; time to 1e-3."""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import torch
from curvature_peers import Batches, Result, installed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "planted"))

from planted_curvature import SHAPE, VOCABULARY, dense_hessian

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.lanczos import extreme_eigenpairs, standard_normal
from andrea_core.landscape.language import language_objective
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import ModelShape

ROUNDS = 7
ACCURACY = 1e-3
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 2e-3)
"""Residuals of ours from cheap to dear; an eigenvalue's error goes with the residual's square."""
TIMED = ModelShape(layers=2, heads=4, width=64, context=64, tied_head=True)


def ours(model: GPT, windows: list[np.ndarray], seed: int, tolerance: float) -> Result:
    objective = language_objective(model, windows)
    hessian, rng = objective.hessian(), np.random.default_rng(seed)
    start = standard_normal(objective.size, rng).to(objective.point())
    found = extreme_eigenpairs(
        hessian, start, largest=1, smallest=False, tolerance=tolerance, budget=Budget(60), rng=rng
    )
    return Result(float(found.values[0]), hessian.products)


def trained(shape: ModelShape, vocabulary: int, windows: np.ndarray, steps: int) -> GPT:
    model = build_model(shape, vocabulary, 0)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02 if shape.width < 64 else 0.003)
    tokens = torch.from_numpy(windows)
    for _ in range(steps):
        optimiser.zero_grad()
        model.token_losses(tokens[:, :-1], tokens[:, 1:]).mean().backward()
        optimiser.step()
    optimiser.zero_grad()
    return model.eval()


def batches_of(windows: list[np.ndarray]) -> Batches:
    tokens = [torch.from_numpy(batch) for batch in windows]
    return [(batch[:, :-1].clamp(min=0), batch[:, 1:]) for batch in tokens]


def fixtures() -> dict[str, list[np.ndarray]]:
    rng = np.random.default_rng(5)
    whole = rng.integers(0, VOCABULARY, (8, 9))
    ignored = [whole[:4].copy(), whole[4:].copy()]
    ignored[1][:, 4:] = -100
    return {
        "one batch": [whole],
        "unequal batches": [whole[:4], whole[4:7], whole[7:]],
        "ignored tokens": ignored,
    }


def accuracy() -> None:
    print(f"{'relative error of lambda_1':28}", *(f"{name:>20}" for name in ["ours", *installed()]))
    for name, windows in fixtures().items():
        model = trained(attrs.evolve(SHAPE, dropout=0.0), VOCABULARY, windows[0], 60).double()
        exact = float(torch.linalg.eigvalsh(dense_hessian(model, windows))[-1])
        found = [ours(model, windows, 0, 1e-9)]
        found += [peer(model, batches_of(windows), 0, peer.strictest) for peer in installed().values()]
        print(f"{name:28}", *(f"{abs(one.value / exact - 1):20.1e}" for one in found))


def cost() -> None:
    windows = np.random.default_rng(1).integers(0, 65, (8, 65))
    windows[:, 1::2] = windows[:, ::2][:, : windows[:, 1::2].shape[1]]  # something to learn
    model = trained(TIMED, 65, windows, 100)
    objective, batches = language_objective(model, [windows]), batches_of([windows])
    exact = ours(model, [windows], 9, 1e-7).value
    acts = {"ours": cheapest(lambda seed, at: ours(model, [windows], seed, at), TOLERANCES, exact)}
    for name, peer in installed().items():
        acts[name] = cheapest(lambda seed, at, peer=peer: peer(model, batches, seed, at), peer.settings, exact)
    hessian, vector = objective.hessian(), torch.randn(objective.size)
    parts = {"a gradient": lambda _: objective.gradient(), "a product": lambda _: hessian(vector)}
    seconds, results = rounds({**parts, **{name: act for name, (_, act) in acts.items()}})
    print(f"\n{objective.size:,} parameters, float32, {ROUNDS} rounds, all in turn; lambda_1 = {exact:.4g}")
    each = statistics.median(seconds["a product"]) / statistics.median(seconds["a gradient"])
    print(f"one product of ours costs {each:.2f} gradients")
    print(f"{'to 1e-3':20} {'setting':>8} {'worst error':>12} {'products':>9} {'seconds':>8} {'times ours':>11}")
    for name, (setting, _) in acts.items():
        error = max(abs(one.value / exact - 1) for one in results[name])
        products = statistics.median(one.products for one in results[name])
        took = statistics.median(seconds[name])
        times = statistics.median(a / b for a, b in zip(seconds[name], seconds["ours"], strict=True))
        print(f"{name:20} {setting:8.2g} {error:12.1e} {products:9.0f} {took:8.3f} {times:11.2f}", flush=True)


def cheapest(
    act: Callable[[int, float], Result], settings: tuple[float, ...], exact: float
) -> tuple[float, Callable[[int], Result]]:
    """Return the first setting that is right to ACCURACY from every start vector (the last if none is), and the act."""
    for setting in settings:
        if all(abs(act(seed, setting).value / exact - 1) <= ACCURACY for seed in range(ROUNDS)):
            break
    return setting, lambda seed: act(seed, setting)


def rounds(acts: dict[str, Callable[[int], object]]) -> tuple[dict[str, list[float]], dict[str, list]]:
    """Return the processor's seconds and the results of each act in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in acts}
    results: dict[str, list] = {name: [] for name in acts}
    for seed in range(ROUNDS):
        for name, act in acts.items():
            start = time.process_time()
            results[name].append(act(seed))
            seconds[name].append(time.process_time() - start)
    return seconds, results


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    parts = {"accuracy": accuracy, "cost": cost}
    for name in sys.argv[1:] or parts:
        parts[name]()

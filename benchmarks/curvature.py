"""Curvature beside other libraries: error of the largest eigenvalue, products, time."""

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
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "planted"))

from planted_curvature import SHAPE, VOCABULARY, dense_hessian

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.lanczos import extreme_eigenpairs, standard_normal
from andrea_core.landscape.language import language_objective
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import ModelShape

REPEATS = 3
TIMED = ModelShape(layers=2, heads=4, width=64, context=64, tied_head=True)


def ours(model: GPT, windows: list[np.ndarray], seed: int, tolerance: float = 2e-3) -> Result:
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
        for peer in installed().values():
            with sdpa_kernel(SDPBackend.MATH):
                found.append(peer(model, batches_of(windows), 0, 1e-9))
        print(f"{name:28}", *(f"{abs(one.value / exact - 1):20.1e}" for one in found))


def cost() -> None:
    windows = np.random.default_rng(1).integers(0, 65, (8, 65))
    windows[:, 1::2] = windows[:, ::2][:, : windows[:, 1::2].shape[1]]  # something to learn
    model = trained(TIMED, 65, windows, 100)
    objective = language_objective(model, [windows])
    batches = batches_of([windows])
    found = {"ours": timed(lambda seed: ours(model, [windows], seed))}
    for name, peer in installed().items():
        with sdpa_kernel(SDPBackend.MATH):
            found[name] = timed(lambda seed, peer=peer: peer(model, batches, seed))
    exact = ours(model, [windows], 9, 1e-7).value
    gradient = timed(lambda _: objective.gradient())[0]
    hessian, vector = objective.hessian(), torch.randn(objective.size)
    product = timed(lambda _: hessian(vector))[0]
    print(f"\n{objective.size:,} parameters, float32, {REPEATS} start vectors; lambda_1 = {exact:.4g}")
    print(f"one product of ours costs {product / gradient:.2f} gradients")
    print(f"{'to 1e-3':20} {'worst error':>12} {'products':>9} {'seconds':>8} {'times ours':>11}")
    for name, (seconds, results) in found.items():
        error = max(abs(one.value / exact - 1) for one in results)
        products = statistics.median(one.products for one in results)
        print(f"{name:20} {error:12.1e} {products:9.0f} {seconds:8.2f} {seconds / found['ours'][0]:11.2f}")


def timed(act: Callable[[int], object]) -> tuple[float, list]:
    act(0)
    seconds, results = [], []
    for seed in range(REPEATS):
        start = time.process_time()
        results.append(act(seed))
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), results


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    accuracy()
    cost()

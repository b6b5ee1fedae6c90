"""The largest eigenvalue of a model's Hessian by three other libraries, each as its documentation shows."""

import importlib.util
import sys
from collections.abc import Callable
from unittest import mock

import attrs
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from andrea_core.model.products import plain_products

Batches = list[tuple[Tensor, Tensor]]


@attrs.frozen
class Result:
    """An eigenvalue, and the Hessian-vector products it took."""

    value: float
    products: int


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


def eigenthings(model: nn.Module, batches: Batches, seed: int, steps: float) -> Result:
    from hessian_eigenthings import HessianOperator, lanczos

    operator = HessianOperator(model, batches, lambda net, batch: cross_entropy(net(batch[0]), batch[1]))
    counted = Counted(operator.matvec)
    operator.matvec = counted
    found = lanczos(operator, k=1, max_iter=int(steps), tol=1e-9, which="LA", seed=seed)
    return Result(float(found.eigenvalues[0]), counted.calls)


def pyhessian(model: nn.Module, batches: Batches, seed: int, tolerance: float) -> Result:
    from pyhessian import hessian

    torch.manual_seed(seed)
    if len(batches) > 1:
        operator = hessian(model, cross_entropy, dataloader=batches, cuda=False)
        counted = Counted(operator.dataloader_hv_product)
        operator.dataloader_hv_product = counted
        values, _ = operator.eigenvalues(maxIter=300, tol=tolerance, top_n=1)
    else:
        operator = hessian(model, cross_entropy, data=batches[0], cuda=False)  # keeps the graph from product to product
        module = sys.modules[hessian.__module__]
        counted = Counted(module.hessian_vector_product)
        with mock.patch.object(module, "hessian_vector_product", counted):
            values, _ = operator.eigenvalues(maxIter=300, tol=tolerance, top_n=1)
    model.zero_grad(set_to_none=True)
    return Result(float(values[0]), counted.calls)


class Flat(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.model(tokens).flatten(0, 1)
        return logits


def curvlinops(model: nn.Module, batches: Batches, seed: int, tolerance: float) -> Result:
    from curvlinops import HessianLinearOperator
    from scipy.sparse.linalg import LinearOperator, eigsh

    flat = Flat(model)
    data = [(inputs, targets.flatten()) for inputs, targets in batches]
    parameters = [p for p in flat.parameters() if p.requires_grad]
    loss = nn.CrossEntropyLoss(ignore_index=-100)
    operator = HessianLinearOperator(flat, loss, parameters, data, check_deterministic=False)
    inner = operator.to_scipy()
    counted = Counted(inner.matvec)
    start = np.random.default_rng(seed).standard_normal(inner.shape[0]).astype(inner.dtype)
    outer = LinearOperator(inner.shape, counted, dtype=inner.dtype)
    value = eigsh(outer, k=1, which="LA", ncv=12, tol=tolerance, v0=start, return_eigenvectors=False)
    return Result(float(value[0]), counted.calls)


class Counted:
    def __init__(self, inner: Callable[..., object]) -> None:
        self.inner, self.calls = inner, 0

    def __call__(self, *arguments: object, **named: object) -> object:
        self.calls += 1
        return self.inner(*arguments, **named)


@attrs.frozen
class Peer:
    """A library's way to the largest eigenvalue, its strictest setting, and settings from cheap to dear."""

    act: Callable[[nn.Module, Batches, int, float], Result]
    strictest: float
    settings: tuple[float, ...]

    def __call__(self, model: nn.Module, batches: Batches, seed: int, setting: float) -> Result:
        """Return what it finds by the plain paths of attention and matrix products, which all of them need."""
        with sdpa_kernel(SDPBackend.MATH), plain_products():
            return self.act(model, batches, seed, setting)


PEERS = {
    "hessian_eigenthings": Peer(
        eigenthings, 60, (5, 6, 7, 8, 9, 10, 12, 15, 20)
    ),  # Lanczos steps; it takes all it is given
    "pyhessian": Peer(pyhessian, 1e-9, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)),
    "curvlinops": Peer(curvlinops, 1e-9, (1e-1, 1e-2, 1e-3)),
}


def installed() -> dict[str, Peer]:
    return {name: peer for name, peer in PEERS.items() if importlib.util.find_spec(name)}

"""Other libraries' curvature is ours where they claim to be right; skipped where they are not installed."""

import numpy as np
import pytest
import torch
from peers import peer
from torch import nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from andrea_core.landscape.budget import Budget
from andrea_core.landscape.lanczos import extreme_eigenpairs
from andrea_core.landscape.language import language_objective


@pytest.fixture
def double(trained):
    """The trained decoder in float64, dropout off."""
    model = type(trained)(trained.shape, trained.vocabulary).double().eval()
    model.load_state_dict(trained.state_dict())
    return model


@pytest.fixture
def eigenthings(double, windows):
    """hessian-eigenthings' operator of the loss on one batch."""
    library = peer("hessian_eigenthings")

    def loss(net, batch):
        return functional.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    return library.HessianOperator(double, [torch.from_numpy(windows[0])], loss)


def relative(found, expected):
    return float((found - expected).norm() / expected.norm())


def test_hessian_eigenthings_has_the_same_products_on_one_batch(eigenthings, trained, windows, normal):
    ours = language_objective(trained, windows[:1], dtype=torch.float64)
    vector = normal(ours.size, 4)
    with sdpa_kernel(SDPBackend.MATH):
        found = eigenthings.matvec(vector)

    assert relative(found, ours.hessian()(vector)) < 1e-12


@pytest.mark.parametrize("end", ["LA", "SA"])
def test_hessian_eigenthings_has_the_same_eigenvalue_at_either_end_on_one_batch(
    eigenthings, trained, windows, normal, end
):
    ours = language_objective(trained, windows[:1], dtype=torch.float64)
    found = extreme_eigenpairs(
        ours.hessian(),
        normal(ours.size, 1),
        largest=1,
        smallest=True,
        tolerance=1e-6,
        budget=Budget(200),
        rng=np.random.default_rng(0),
    )
    with sdpa_kernel(SDPBackend.MATH):
        theirs = peer("hessian_eigenthings").lanczos(eigenthings, k=1, max_iter=50, which=end, tol=1e-6, seed=0)

    assert found.status == "ok"
    assert float(theirs.eigenvalues[0]) == pytest.approx(found.values[0 if end == "LA" else -1], rel=1e-8)


class Logits(nn.Module):
    """The decoder as a function of some of its parameters, in which its logits are linear."""

    def __init__(self, model, names):
        super().__init__()
        self.rest = {name: p.detach() for name, p in model.named_parameters() if name not in names}
        self.names, self.model = names, [model]  # in a list, so that its parameters are no one's here
        self.varied = nn.ParameterList([dict(model.named_parameters())[name].detach().clone() for name in names])

    def forward(self, tokens):
        varied = dict(zip(self.names, self.varied, strict=True))
        return functional_call(self.model[0], {**self.rest, **varied}, (tokens,)).flatten(0, 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own imports
def test_curvlinops_has_the_same_gauss_newton_products_where_the_logits_are_linear(double, windows, normal):
    """There the Gauss-Newton matrix is the Hessian; the last LayerNorm's gain and shift are such parameters."""
    library, names = peer("curvlinops"), ["norm.weight", "norm.bias"]
    logits, tokens = Logits(double, names), torch.from_numpy(windows[0])
    batch = (tokens[:, :-1], tokens[:, 1:].flatten())
    ours = language_objective(double, windows[:1], parameters=tuple(names))
    vector = normal(ours.size, 5)
    operator = library.GGNLinearOperator(
        logits, nn.CrossEntropyLoss(), list(logits.parameters()), [batch], check_deterministic=False
    )
    with sdpa_kernel(SDPBackend.MATH):
        found = operator @ vector

    assert ours.names == tuple(names)
    assert relative(found, ours.hessian()(vector)) < 1e-12

"""Another library's Hessian is ours where it claims to be right; skipped where it is not installed."""

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from andrea_core.landscape.language import language_objective


def test_hessian_eigenthings_has_the_same_products_on_one_batch(trained, windows, normal):
    peer = pytest.importorskip("hessian_eigenthings")
    ours = language_objective(trained, windows[:1], dtype=torch.float64)
    tokens = torch.from_numpy(windows[0])
    model = type(trained)(trained.shape, trained.vocabulary).double().eval()
    model.load_state_dict(trained.state_dict())

    def loss(net, batch):
        return functional.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    operator = peer.HessianOperator(model, [tokens], loss)
    vector = normal(ours.size, 4)
    with sdpa_kernel(SDPBackend.MATH):
        found = operator.matvec(vector)
    expected = ours.hessian()(vector)
    assert float((found - expected).norm() / expected.norm()) < 1e-12

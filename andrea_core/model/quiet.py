"""Looking at a model without changing it: evaluation mode and no gradients, put back afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a block with the model in evaluation mode; each module's own mode returns at the end, also after an error.

    Dropout is off inside, so that PyTorch's generators are not drawn from.
    """
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def quiet(model: nn.Module) -> Iterator[None]:
    """Run a block with the model in evaluation mode and without autograd."""
    with evaluating(model), torch.inference_mode():
        yield

"""The likeliest next token at every place of a text: what a greedy continuation would have said."""

import numpy as np
import torch

from andrea_core.model.gpt import GPT
from andrea_core.model.quiet import quiet
from andrea_core.values import Integers

LOGITS_AT_ONCE = {"cpu": 2**19, "cuda": 2**27}


def likeliest_tokens(model: GPT, windows: Integers) -> Integers:
    """Return the likeliest token (n, T) at the last T places of windows (n, T + 1), T <= context; of equals the first.

    Greedy continuation of a prefix repeats the window exactly as long as these agree with it.
    """
    rows, length = windows.shape[0], windows.shape[1] - 1
    device = model.head_weight.device
    budget = LOGITS_AT_ONCE.get(device.type, LOGITS_AT_ONCE["cpu"])
    batch = max(1, budget // max(1, length * model.vocabulary))
    found = np.empty((rows, length), np.int64)
    with quiet(model):
        for start in range(0, rows, batch):
            part = torch.from_numpy(windows[start : start + batch, :-1].copy()).to(device)
            found[start : start + batch] = model(part).argmax(-1).cpu().numpy()
    return found

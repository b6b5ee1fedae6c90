"""Text from the model, token by token: temperature, top-k and top-p, with randomness from a numpy generator."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import torch

from andrea_core.errors import RunError
from andrea_core.fields import number
from andrea_core.model.gpt import GPT
from andrea_core.model.quiet import quiet
from andrea_core.values import Vector


@attrs.frozen
class Sampling:
    """How a token is drawn: `temperature` 0 takes the likeliest, `top_k` 0 and `top_p` 1 leave all tokens in."""

    temperature: float = number(default=0.8, at_least=0)
    top_k: int = number(default=0, at_least=0)
    top_p: float = number(default=1.0, above=0, at_most=1)


def generate_tokens(
    model: GPT, prompt: Sequence[int], count: int, sampling: Sampling, rng: np.random.Generator, stop: int | None = None
) -> Iterator[int]:
    """Yield up to `count` tokens that continue the `prompt`, and end before the token `stop`.

    The model sees the last `context` tokens. Raises ValueError for an empty prompt, RunError when the model's
    predictions are not finite.
    """
    if not len(prompt):
        raise ValueError("a prompt needs at least one token; the separator starts a document")
    context = model.shape.context
    seen = list(prompt)[-context:]
    device = model.head.weight.device
    for _ in range(count):
        with quiet(model):
            logits_V = model.next_logits(torch.tensor([seen], device=device))[0].double().cpu().numpy()
        token = pick(logits_V, sampling, rng)
        if token == stop:
            return
        yield token
        seen = [*seen, token][-context:]


def pick(logits_V: Vector, sampling: Sampling, rng: np.random.Generator) -> int:
    """Draw one token from logits (V,); top-p is the nucleus of Holtzman et al. 2020, taken after top-k."""
    if not np.isfinite(logits_V).all():
        raise RunError("the model's predictions are not finite: it has diverged, use an earlier checkpoint")
    if sampling.temperature == 0:
        return int(logits_V.argmax())
    order = np.argsort(-logits_V, kind="stable")[: sampling.top_k or None]
    chances = np.exp((logits_V[order] - logits_V[order[0]]) / sampling.temperature)
    sums = np.cumsum(chances)
    if sampling.top_p < 1:
        kept = int(np.searchsorted(sums, sampling.top_p * sums[-1])) + 1  # the first tokens that reach top_p together
        sums = sums[:kept]
    place = np.searchsorted(sums, rng.random() * sums[-1], side="right")
    return int(order[min(place, len(sums) - 1)])

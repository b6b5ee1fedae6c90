"""Text from the model, token by token: temperature, top-k and top-p, with randomness from a numpy generator."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import torch

from andrea_core.errors import RunError
from andrea_core.fields import number
from andrea_core.model.cache import Cache
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

    The model sees the last `context` tokens. Up to there each token is read once; beyond, every position changes with
    each token, and all are read again. Raises ValueError for an empty prompt, RunError when the model's predictions are
    not finite.
    """
    if not len(prompt):
        raise ValueError("a prompt needs at least one token; the separator starts a document")
    reader = Reader(model, prompt)
    for _ in range(count):
        token = pick(reader.logits(), sampling, rng)
        if token == stop:
            return
        yield token
        reader.read(token)


class Reader:
    """A model that reads a text token by token and predicts the next."""

    def __init__(self, model: GPT, prompt: Sequence[int]) -> None:
        self._model = model
        self._seen = list(prompt)[-model.shape.context :]
        self._cache = Cache.empty(model.shape, 1, model.head_weight)

    def read(self, token: int) -> None:
        """Take one token more; the first one goes when the context is full."""
        self._seen = [*self._seen, token][-self._model.shape.context :]

    def logits(self) -> Vector:
        """Return the logits (V,) of the next token in float64."""
        new = len(self._seen) - self._cache.length
        full = new == 0  # the window has moved on: positions are absolute, so nothing that was kept holds
        tokens = torch.tensor([self._seen if full else self._seen[-new:]], device=self._model.head_weight.device)
        with quiet(self._model):
            found = self._model.next_logits(tokens, None if full else self._cache)
        return np.asarray(found[0].double().cpu().numpy())


def settled(text: str) -> str:
    """Return the part of a decoded text that no further token changes: without a character that is half there."""
    return text.rstrip("\N{REPLACEMENT CHARACTER}")


def pick(logits_V: Vector, sampling: Sampling, rng: np.random.Generator) -> int:
    """Draw one token from logits (V,); top-p is the nucleus of Holtzman et al. 2020, taken after top-k."""
    if not np.isfinite(logits_V).all():
        raise RunError("the model's predictions are not finite: it has diverged, use an earlier checkpoint")
    if sampling.temperature == 0:
        return int(logits_V.argmax())
    order = np.argsort(-logits_V, kind="stable")[: sampling.top_k or None]
    with np.errstate(over="ignore"):  # next to 0 the others become impossible
        chances = np.exp((logits_V[order] - logits_V[order[0]]) / sampling.temperature)
    sums = np.cumsum(chances)
    if sampling.top_p < 1:
        kept = int(np.searchsorted(sums, sampling.top_p * sums[-1])) + 1  # the first tokens that reach top_p together
        sums = sums[:kept]
    place = np.searchsorted(sums, rng.random() * sums[-1], side="right")
    return int(order[min(place, len(sums) - 1)])

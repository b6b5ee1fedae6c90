"""A small float64 model, a corpus of letters, and a hash of everything that a probe must leave alone."""

import hashlib
from types import SimpleNamespace

import attrs
import numpy as np
import torch

from andrea_core import Sources
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.settings import PRESETS

LETTERS = "abcdefghij"
SOURCES = Sources(("large", "small", "none"), np.array([1900, 9, 0]))


class Letters:
    """A tokenizer of ten letters of one byte each, and the separator 10; other characters are passed over."""

    vocabulary, separator = 11, 10
    byte_lengths = np.array([1] * 10 + [0])

    def encode(self, text: str) -> np.ndarray:
        return np.array([LETTERS.index(letter) for letter in text if letter in LETTERS], dtype=np.uint16)

    def decode(self, tokens: list[int]) -> str:
        return "".join(LETTERS[token] for token in tokens)


def _text(rng: np.random.Generator, *lengths: int) -> SimpleNamespace:
    tokens = rng.integers(0, 10, sum(lengths)).astype(np.uint16)
    return SimpleNamespace(tokens=tokens, offsets=np.cumsum([0, *lengths]).astype(np.int64))


def _source(name: str, *lengths: int) -> SimpleNamespace:
    rng = np.random.default_rng(len(name))
    return SimpleNamespace(name=name, heldout=_text(rng, *lengths), train=_text(rng, *lengths))


CORPUS = SimpleNamespace(
    tokenizer=Letters(), sources=[_source("large", 700, 300, 900), _source("small", 9), _source("none")]
)


def small_model(seed: int = 0, **shape: object) -> GPT:
    """Return a float64 model of 2 layers, 2 heads and width 8 with gains and matrices of size 1 / sqrt(width)."""
    sizes = {"layers": 2, "heads": 2, "width": 8, "context": 12, "dropout": 0.3, **shape}
    model = build_model(attrs.evolve(PRESETS["tiny"], **sizes), 11, seed).double()
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn(parameter.shape, generator=draw, dtype=torch.float64) / 8**0.5
    return model


def fingerprint(model: GPT) -> str:
    """Return a hash of parameters, buffers, gradients, modes and the global generators' states."""
    found = hashlib.sha256()
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        found.update(name.encode() + tensor.detach().numpy().tobytes())
        found.update(
            b"none" if tensor.grad is None else tensor.grad.numpy().tobytes() + bytes(str(id(tensor.grad)), "ascii")
        )
        found.update(f"{tensor.requires_grad} {id(tensor)}".encode())
    found.update(str([module.training for module in model.modules()]).encode())
    found.update(torch.get_rng_state().numpy().tobytes())
    found.update(np.random.get_state()[1].tobytes())
    return found.hexdigest()

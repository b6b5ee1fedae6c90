"""What a probe sees of a run: losses, held-out text and samples of the model, nothing that could change it."""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from andrea_core.data.windows import spaced_windows
from andrea_core.landscape.budget import Cost
from andrea_core.model.generate import Sampling, generate_tokens
from andrea_core.model.gpt import GPT
from andrea_core.model.guesses import likeliest_tokens
from andrea_core.model.heads import Heads, read_heads, token_vectors
from andrea_core.model.quiet import quiet
from andrea_core.model.settings import ModelShape
from andrea_core.values import Integers, Vector

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus
    from andrea_core.data.tokenizer import Tokenizer
    from andrea_core.landscape.objective import Objective
    from andrea_core.model.course import Course
    from andrea_core.model.settings import OptimizerSettings
    from andrea_core.model.trained import Trained
    from andrea_core.values import Outcome

Side = Literal["train", "heldout"]
"""The two sides of a source's text."""

LOGITS_AT_ONCE = {"cpu": 2**19, "cuda": 2**27}
"""Logits computed together: small enough for the caches of a CPU, large enough to fill a GPU."""


class ModelView:
    """A read-only look at the model after `step` steps. Training goes on bit for bit as if nobody had looked."""

    def __init__(
        self,
        model: GPT,
        corpus: "Corpus",
        step: int,
        course: "Course | None" = None,
        stage: str = "",
        outcome: "Outcome | None" = None,
    ) -> None:
        self._model, self._corpus, self._step = model, corpus, step
        self._course, self._stage, self._outcome = course, stage, outcome
        self.cost = Cost()  # of all objectives that come from here
        self._trained: Trained | None = None

    def after(self, trained: "Trained | None") -> "ModelView":
        """Return the same view, which also shows the rows of the phase just finished."""
        view = copy.copy(self)
        view._trained = trained
        return view

    @property
    def trained(self) -> "Trained | None":
        """The rows of the phase just finished; None at the start and when only a model is looked at."""
        return self._trained

    @property
    def step(self) -> int:
        """The number of finished optimiser steps."""
        return self._step

    @property
    def shape(self) -> ModelShape:
        """The model's size."""
        return self._model.shape

    @property
    def tokenizer(self) -> "Tokenizer":
        """The tokenizer of the corpus."""
        return self._corpus.tokenizer

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources, in the scenario's order."""
        return tuple(source.name for source in self._corpus.sources)

    @property
    def stage(self) -> str:
        """The name of the stage that the last step belonged to; "" before the first one."""
        return self._stage

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the run's stages in order; none when only a model is looked at."""
        return tuple(self._course.stages) if self._course else ()

    @property
    def outcome(self) -> "Outcome | None":
        """What the phase that has just ended taught; None at the start, and when a stored checkpoint is looked at."""
        return self._outcome

    @property
    def optimizer(self) -> "OptimizerSettings | None":
        """The optimiser's settings; None when only a model is looked at."""
        return self._course.settings if self._course else None

    @property
    def learning_rate(self) -> float:
        """The learning rate of the step that is next; NaN when only a model is looked at."""
        return self._course.learning_rate if self._course else math.nan

    def parameters(self) -> dict[str, Tensor]:
        """Return copies of the parameters by name, in the model's order; one that two layers share appears once."""
        return {name: parameter.detach().clone() for name, parameter in self._model.named_parameters()}

    def moments(self) -> dict[str, Tensor]:
        """Return copies of the optimiser's tensors as `<parameter>.<name>`; none before the first step."""
        return self._course.moments() if self._course else {}

    def preconditioner(self, names: Sequence[str]) -> Tensor | None:
        """Return the diagonal (n,) of Adam's preconditioner for the named parameters, None where there is none."""
        return self._course.preconditioner(names) if self._course else None

    def next_update(self, gradient: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
        """Return what the optimiser would add to each parameter if the next gradient were this one; None without."""
        return self._course.next_update(gradient) if self._course else None

    def objective(
        self, windows: Sequence[Integers], *, double: bool = False, parameters: Sequence[str] = ("*",)
    ) -> "Objective":
        """Return the mean loss in nats a token of windows (n, T + 1), of any lengths, as a function of the parameters.

        A negative token is not counted. Only parameters whose names match one of the patterns vary; `double` computes
        in float64. Its gradient and Hessian-vector products work on copies. Raises ValueError when no token counts.
        """
        from andrea_core.landscape.language import language_objective

        dtype = torch.float64 if double else None
        made = language_objective(self._model, windows, dtype=dtype, parameters=parameters)
        made.cost = self.cost
        return made

    def windows(self, source_index: int, max_tokens: int, side: Side = "train") -> Integers:
        """Return windows (n, context + 1) of one side of a source's text, always the same ones; see `heldout`."""
        source = self._corpus.sources[source_index]
        text = source.train if side == "train" else source.heldout
        return spaced_windows(
            text.tokens,
            text.offsets,
            separator=self.tokenizer.separator,
            context=self.shape.context,
            max_tokens=max_tokens,
        )

    def stage_windows(self, stage: str, max_tokens: int, side: Side = "train") -> list[Integers]:
        """Return the windows of the sources that a stage may draw from, all together at most `max_tokens` tokens.

        Each source gives an equal part, at least one window; a source without text gives none. A stage that is not
        among `stages`, as "", stands for all sources.
        """
        known = self._course.stages if self._course else {}
        members = known.get(stage, tuple(range(len(self.sources))))
        share = max(1, max_tokens // max(1, len(members)))
        found = [self.windows(index, share, side) for index in members]
        return [windows for windows in found if len(windows)]

    def heldout(self, source_index: int, max_tokens: int) -> Integers:
        """Return windows (n, context + 1) of a source's held-out text, always the same ones.

        They predict at most `max_tokens` tokens (but at least one window) and are spread over the text; a short text
        gives one shorter window, a source without held-out text none.
        """
        return self.windows(source_index, max_tokens, "heldout")

    def token_losses(self, windows: npt.NDArray[np.integer]) -> Vector:
        """Return the cross-entropy (n, T) in nats of the last T tokens of windows (n, T + 1), T <= context."""
        return window_losses(self._model, windows)

    def row_losses(self, windows: npt.NDArray[np.integer]) -> Vector:
        """Return the summed cross-entropy (n,) in nats of each of the windows (n, T + 1)."""
        return np.asarray(self.token_losses(windows).sum(1))

    def generate(
        self, prompt: str, tokens: int, temperature: float, top_k: int, rng: np.random.Generator, top_p: float = 1.0
    ) -> str:
        """Return `tokens` new tokens as text, without the prompt; a new document starts on a new line."""
        start = [self.tokenizer.separator, *map(int, self.tokenizer.encode(prompt))]
        sampling = Sampling(temperature, top_k, top_p)
        return self._text(generate_tokens(self._model, start, tokens, sampling, rng))

    def bits_per_byte(self, windows: npt.NDArray[np.integer]) -> float:
        """Return the loss of windows (n, T + 1) in bits per UTF-8 byte of the predicted text, NaN without any.

        Tokens without bytes, as the separator, count neither in the loss nor in the bytes.
        """
        return self.bits_and_error(windows)[0]

    def bits_and_error(self, windows: npt.NDArray[np.integer]) -> tuple[float, float]:
        """Return `bits_per_byte` and its standard error over the windows, as a ratio of sums; NaN for one window.

        It says how much other windows of the same text would differ, not another model.
        """
        size = self.tokenizer.byte_lengths[np.asarray(windows, dtype=np.int64)[:, 1:]]
        total, count = int(size.sum()), len(size)
        if not total:
            return math.nan, math.nan
        losses = self.token_losses(windows)
        bits = float(losses[size > 0].sum() / math.log(2) / total)
        off = np.where(size > 0, losses, 0).sum(1) / math.log(2) - bits * size.sum(1)
        return bits, math.sqrt(float(off @ off) * count / (count - 1)) / total if count > 1 else math.nan

    def heads(self, tokens: npt.NDArray[np.integer]) -> Heads:
        """Return the attention heads of every layer on tokens (T,), 1 <= T <= context."""
        return read_heads(self._model, np.asarray(tokens, dtype=np.int64))

    def embedding(self) -> Vector:
        """Return the vectors (V, C) of the vocabulary's tokens."""
        return token_vectors(self._model)

    def guesses(self, windows: npt.NDArray[np.integer]) -> Integers:
        """Return the likeliest token (n, T) at the last T places of windows (n, T + 1), each given those before it."""
        return likeliest_tokens(self._model, np.asarray(windows, dtype=np.int64))

    def _text(self, tokens: Iterable[int]) -> str:
        documents: list[list[int]] = [[]]
        for token in tokens:
            if token == self.tokenizer.separator:
                documents.append([])
            else:
                documents[-1].append(token)
        return "\n".join(self.tokenizer.decode(document) for document in documents)


def window_losses(model: GPT, windows: npt.NDArray[np.integer]) -> Vector:
    """Return the cross-entropy (n, T) in nats of the last T tokens of windows (n, T + 1), T <= context."""
    tokens = np.asarray(windows, dtype=np.int64)
    rows, length = tokens.shape[0], tokens.shape[1] - 1
    device = model.head_weight.device
    budget = LOGITS_AT_ONCE.get(device.type, LOGITS_AT_ONCE["cpu"])
    batch = max(1, budget // max(1, length * model.vocabulary))
    losses = np.empty((rows, length))
    with quiet(model):
        for start in range(0, rows, batch):
            part = torch.from_numpy(tokens[start : start + batch].copy()).to(device)
            losses[start : start + batch] = model.token_losses(part[:, :-1], part[:, 1:]).cpu().numpy()
    return losses

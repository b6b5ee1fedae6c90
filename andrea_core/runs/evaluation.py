"""Scores the model of a run on its sources' held-out text, or on any text file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core.data.tokenizer import Tokenizer
from andrea_core.errors import AndreaError, RunError
from andrea_core.values import Integers, Vector

if TYPE_CHECKING:
    from andrea_core.model.gpt import GPT
    from andrea_core.runs.trained import Tell


@attrs.frozen
class Score:
    """How well a model predicts a text: tokens predicted, the UTF-8 bytes they stand for, and their loss.

    `nats` is the mean loss a token, `bits_per_byte` the loss of the tokens that stand for bytes, which compares
    tokenizers; NaN without any.
    """

    name: str
    tokens: int
    bytes: int
    nats: float
    bits_per_byte: float

    @classmethod
    def of(cls, name: str, losses: Vector, sizes: Integers) -> "Score":
        """Return the score of token losses (n,) in nats, for tokens of so many bytes (n,)."""
        size = int(sizes.sum())
        bits = float(losses[sizes > 0].sum()) / math.log(2) / size if size else math.nan
        return cls(name, len(losses), size, float(losses.mean()) if len(losses) else math.nan, bits)


def score_heldout(folder: Path, step: int | None, max_tokens: int, tell: "Tell" = str) -> tuple[int, list[Score]]:
    """Return the step of the checkpoint and the scores of a run's sources on at most `max_tokens` tokens of each.

    `tell` is given a line for each damaged checkpoint that was passed over.

    Raises RunError, CorpusError: no such run or checkpoint, text that is no longer what the run was trained with.
    """
    from andrea_core.assembly import corpus_of
    from andrea_core.model.view import ModelView
    from andrea_core.runs.trained import trained_model_at

    model, tokenizer, step = trained_model_at(folder, step, tell)
    view = ModelView(model, corpus_of(folder), step)
    scores = []
    for index, name in enumerate(view.sources):
        windows = view.heldout(index, max_tokens)
        sizes = tokenizer.byte_lengths[windows[:, 1:]].ravel()
        scores.append(Score.of(name, view.token_losses(windows).ravel(), sizes))
    return step, scores


def score_file(model: "GPT", tokenizer: Tokenizer, path: Path) -> Score:
    """Return the score of a UTF-8 text file, whole, as one document; raises AndreaError for a file that is none.

    Stretches of `context` tokens are predicted in turn, each from its own beginning; a token sees at most those before
    it in its stretch, so a longer context scores better.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AndreaError(f"{path} cannot be read as UTF-8 text: {error}") from error
    tokens = np.concatenate([[tokenizer.separator], tokenizer.encode(text).astype(np.int64)])
    if len(tokens) < 2:
        raise AndreaError(f"{path} is empty; there is nothing to predict")
    return Score.of(str(path), losses_of(model, tokens), tokenizer.byte_lengths[tokens[1:]])


def losses_of(model: "GPT", tokens: Integers) -> Vector:
    """Return the losses (n - 1,) in nats of all tokens (n,) but the first."""
    from andrea_core.model.view import window_losses

    context = model.shape.context
    whole = (len(tokens) - 1) // context
    starts = np.arange(whole) * context
    windows = tokens[starts[:, None] + np.arange(context + 1)]
    found = [window_losses(model, windows).ravel()] if whole else []
    if whole * context < len(tokens) - 1:
        found.append(window_losses(model, tokens[None, whole * context :]).ravel())
    losses = np.concatenate(found)
    if not np.isfinite(losses).all():
        raise RunError("the model's predictions are not finite: it has diverged, use an earlier checkpoint with --at")
    return losses

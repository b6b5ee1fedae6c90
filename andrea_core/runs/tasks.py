"""Multiple-choice tasks: how often a model finds the right ending of a text the likeliest."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.data.tokenizer import Tokenizer
from andrea_core.errors import AndreaError, RunError
from andrea_core.spelling import first_words
from andrea_core.values import Vector

if TYPE_CHECKING:
    from andrea_core.model.gpt import GPT


@attrs.frozen
class Question:
    """A beginning, its possible endings, and the number of the right one."""

    context: str
    choices: tuple[str, ...]
    answer: int


@attrs.frozen
class TaskScore:
    """How a model did: the part of the questions whose right ending has the largest log-likelihood.

    `normalised` takes log-likelihoods by character, so that short endings have no advantage; `chance` is what guessing
    gives. `acc` and `acc_norm` of lm-evaluation-harness are the same two numbers.
    """

    name: str
    questions: int
    accuracy: float
    normalised: float
    chance: float


def read_task(path: Path) -> list[Question]:
    """Read a file of JSON lines, each `{"context": text, "choices": [text, ...], "answer": number from 0}`.

    A byte order mark in front is passed over. Raises AndreaError that names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON texts may hold other ends of a line
    except (OSError, UnicodeDecodeError) as error:
        raise AndreaError(f"{path} cannot be read as UTF-8 text: {error}") from error
    found = [_question(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise AndreaError(
            f'{path} holds no question; a line is {{"context": "...", "choices": ["...", ...], "answer": 0}}'
        )
    return found


def score_task(model: "GPT", tokenizer: Tokenizer, path: Path) -> TaskScore:
    """Return the score of a task file. Raises AndreaError, RunError: no such file, an ending beyond the context."""
    questions = read_task(path)
    right = np.zeros(2)
    for question in questions:
        found = log_likelihoods(model, tokenizer, question.context, question.choices)
        sizes = np.array([len(choice) for choice in question.choices])
        right += [found.argmax() == question.answer, (found / sizes).argmax() == question.answer]
    accuracy, normalised = (right / len(questions)).tolist()
    chance = float(np.mean([1 / len(question.choices) for question in questions]))
    return TaskScore(str(path), len(questions), accuracy, normalised, chance)


def log_likelihoods(model: "GPT", tokenizer: Tokenizer, context: str, choices: Sequence[str]) -> Vector:
    """Return the log-likelihoods (n,) in nats of endings after a beginning, which starts a document.

    Blanks at the end of the beginning count as the ending's. The model sees at most its context of tokens, the last
    ones. Raises RunError for an ending that is longer, or when predictions are not finite.
    """
    from andrea_core.model.view import window_losses

    stem = context.rstrip()
    before = 1 + len(tokenizer.encode(stem))
    found = np.empty(len(choices))
    for index, choice in enumerate(choices):
        text = tokenizer.encode(stem + context[len(stem) :] + choice).astype(np.int64)
        tokens = np.concatenate([[tokenizer.separator], text])
        ending = len(tokens) - before
        if not 0 < ending <= model.shape.context:
            raise RunError(f"the ending {choice[:40]!r} has {ending} tokens; the model reads {model.shape.context}")
        found[index] = -window_losses(model, tokens[None, -(model.shape.context + 1) :])[0, -ending:].sum()
    if not np.isfinite(found).all():
        raise RunError("the model's predictions are not finite: it has diverged, use an earlier checkpoint with --at")
    return found


def _question(line: str, where: str) -> Question:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise AndreaError(f"{where} is no JSON: {first_words(error)}") from error
    except RecursionError as error:
        raise AndreaError(f"{where} is nested too deep to be a question; write it flat") from error
    if not isinstance(data, dict) or not _is_question(data.get("context"), data.get("choices"), data.get("answer")):
        raise AndreaError(
            f"{where}: a question has a text `context`, a list `choices` of at least two texts that are not empty, and "
            "`answer`, the number of the right one, counted from 0"
        )
    for text in (data["context"], *data["choices"]):
        _refuse_surrogates(text, where)
    return Question(data["context"], tuple(data["choices"]), data["answer"])


def _refuse_surrogates(text: str, where: str) -> None:
    """Raise AndreaError for half a character, which JSON can write and no text can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise AndreaError(
            f"{where}: {half!a} in {ascii(text)[:60]} is half of a surrogate pair, no character; write both halves"
        ) from error


def _is_question(context: Any, choices: Any, answer: Any) -> bool:
    texts = isinstance(choices, list) and len(choices) > 1 and all(isinstance(one, str) and one for one in choices)
    return isinstance(context, str) and texts and type(answer) is int and 0 <= answer < len(choices)

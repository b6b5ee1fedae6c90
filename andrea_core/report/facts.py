"""What is known of a run in a word each: seed, parameters, tokens, digest, device, versions."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import cattrs

from andrea_core.data.tokenizer import from_json
from andrea_core.errors import AndreaError
from andrea_core.model.settings import ModelSettings
from andrea_core.runs.folder import TOKENIZER
from andrea_core.runs.store import Run

_SHOWN_ELSEWHERE = {"sources", "name", "stages", "order0", "epoch_tokens", "total_steps", "groups"}
_LONG = {"corpus", "plugins", "tokenizer", "scenario"}
_DIGEST = 12  # letters of a digest that tell runs apart


def run_facts(run: Run) -> list[tuple[str, str]]:
    """Return names and values: what was run first, then the record's attributes and the machine."""
    return [*_of_training(run), *_flat({**run.attributes, **run.facts})]


def seed_of(run: Run) -> int | None:
    """Return the scenario's seed; None when the scenario is gone or names none."""
    seed = _scenario(run).get("seed")
    return seed if isinstance(seed, int) else None


def parameters_of(run: Run) -> tuple[int, int] | None:
    """Return the model's number of parameters and how many of them are in vectors (gains of norms, biases).

    None when the scenario or the tokenizer is gone or cannot be read.
    """
    try:
        shape = cattrs.structure(_scenario(run)["model"], ModelSettings).resolve()
        vocabulary = from_json((run.folder / TOKENIZER).read_text(encoding="utf-8")).vocabulary
    except (OSError, KeyError, ValueError, TypeError, AndreaError, cattrs.BaseValidationError):
        return None
    return shape.parameters(vocabulary) + shape.vectors(), shape.vectors()


def tokens_of(run: Run) -> int:
    """Return the number of tokens trained on, as far as the record reaches."""
    return int(run.steps["tokens"].sum()) if "tokens" in run.steps else 0


def _of_training(run: Run) -> Iterator[tuple[str, str]]:
    seed, parameters = seed_of(run), parameters_of(run)
    if seed is not None:
        yield "seed", str(seed)
    if parameters is not None:
        yield "parameters", f"{parameters[0]:,} ({parameters[1]:,} of them norm gains)"
    yield "tokens trained", f"{tokens_of(run):,}"


def _scenario(run: Run) -> dict[str, Any]:
    try:
        return tomllib.loads(run.scenario)
    except tomllib.TOMLDecodeError:
        return {}


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in attributes.items():
        if not prefix and key in _SHOWN_ELSEWHERE | _LONG:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key} ")
        elif isinstance(value, str | int | float) and str(value):
            yield f"{prefix}{key}".removeprefix("versions "), str(value)[:_DIGEST] if key == "digest" else str(value)

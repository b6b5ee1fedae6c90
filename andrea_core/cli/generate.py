"""`andrea generate`: let a run's model write."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from andrea_core.cli.arguments import THREADS, FiniteRange, note

if TYPE_CHECKING:
    from andrea_core.data.tokenizer import Tokenizer


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option("--prompt", "prompts", multiple=True, help="What the text begins with; may be given several times.")
@click.option("--tokens", type=click.IntRange(min=1), default=400, show_default=True, help="How many tokens to write.")
@click.option("--temperature", type=FiniteRange(min=0), default=0.8, show_default=True, help="0 takes the likeliest.")
@click.option("--top-k", type=click.IntRange(min=1), help="Choose among the k likeliest tokens.")
@click.option("--top-p", type=FiniteRange(min=0, max=1, min_open=True), help="Choose among the likeliest mass p.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--threads", type=THREADS, default=1, show_default=True, help="CPU threads.")
@click.option("--at", "step", type=click.IntRange(min=0), metavar="STEP", help="The checkpoint (default: the newest).")
def generate(
    folder: Path,
    prompts: tuple[str, ...],
    tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
    threads: int,
    step: int | None,
) -> None:
    """Print what the model of RUN, a run's folder, writes: a text for each prompt, while it is being written."""
    from andrea_core.model.generate import Sampling, generate_tokens
    from andrea_core.rng import generator
    from andrea_core.runs.trained import set_threads, trained_model

    set_threads(threads)  # one token at a time has too little work for more than one
    model, tokenizer = trained_model(folder, step, note)
    sampling = Sampling(temperature, top_k or 0, top_p or 1.0)
    for number, prompt in enumerate(prompts or ("",)):
        start = [tokenizer.separator, *map(int, tokenizer.encode(prompt))]
        rng = generator(seed, "generate", number) if number else generator(seed, "generate")
        click.echo(prompt, nl=False)
        _write(tokenizer, generate_tokens(model, start, tokens, sampling, rng, stop=tokenizer.separator))


def _write(tokenizer: "Tokenizer", tokens: Iterator[int]) -> None:
    """Print a text while it is being written, and a line's end."""
    from andrea_core.model.generate import settled

    written: list[int] = []
    shown = ""
    for token in tokens:
        written.append(token)
        text = settled(tokenizer.decode(written))
        if text.startswith(shown):
            click.echo(text[len(shown) :], nl=False)
            shown = text
    click.echo(tokenizer.decode(written)[len(shown) :])

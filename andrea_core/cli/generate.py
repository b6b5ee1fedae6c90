"""`andrea generate`: let a run's model write."""

from pathlib import Path

import click

from andrea_core.cli.arguments import FiniteRange


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option("--prompt", default="", help="What the text begins with.")
@click.option("--tokens", type=click.IntRange(min=1), default=400, show_default=True, help="How many tokens to write.")
@click.option("--temperature", type=FiniteRange(min=0), default=0.8, show_default=True, help="0 takes the likeliest.")
@click.option("--top-k", type=click.IntRange(min=1), help="Choose among the k likeliest tokens.")
@click.option("--top-p", type=FiniteRange(min=0, max=1, min_open=True), help="Choose among the likeliest mass p.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPU threads.")
@click.option("--at", "step", type=click.IntRange(min=0), metavar="STEP", help="The checkpoint (default: the newest).")
def generate(
    folder: Path,
    prompt: str,
    tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
    threads: int,
    step: int | None,
) -> None:
    """Print a text that the model of RUN, a run's folder, writes."""
    from andrea_core.model.generate import Sampling, generate_tokens
    from andrea_core.rng import generator
    from andrea_core.runs.trained import set_threads, trained_model

    set_threads(threads)  # one token at a time has too little work for more than one
    model, tokenizer = trained_model(folder, step)
    sampling = Sampling(temperature, top_k or 0, top_p or 1.0)
    start = [tokenizer.separator, *map(int, tokenizer.encode(prompt))]
    written = generate_tokens(model, start, tokens, sampling, generator(seed, "generate"), stop=tokenizer.separator)
    click.echo(prompt + tokenizer.decode(list(written)))

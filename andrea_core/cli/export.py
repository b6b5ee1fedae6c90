"""`andrea export`: the model of a run for other programs."""

from pathlib import Path

import click

from andrea_core.cli.arguments import note


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option("--to", "form", type=click.Choice(["hf"]), default="hf", show_default=True, help="For `transformers`.")
@click.option("--out", type=click.Path(path_type=Path), help="The new folder (default: RUN-hf, beside the run).")
@click.option("--at", "step", type=click.IntRange(min=0), metavar="STEP", help="The checkpoint (default: the newest).")
def export(folder: Path, form: str, out: Path | None, step: int | None) -> None:
    """Write the model of RUN, a run's folder, as a folder for `transformers`' GPT2LMHeadModel.

    It holds the weights as safetensors, the configuration, the tokenizer and the settings of generation.
    """
    from andrea_core.runs.export import export as write

    target = out or folder.resolve().with_name(f"{folder.resolve().name}-{form}")
    names = write(folder, target, step, note)
    click.echo(f"{target}: {', '.join(names)}")

"""`andrea eval`: how well a run's model predicts held-out text or any text, and answers multiple-choice tasks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from andrea_core.cli.arguments import THREADS, note

if TYPE_CHECKING:
    from andrea_core.runs.evaluation import Score
    from andrea_core.runs.tasks import TaskScore


@click.command("eval")
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--text",
    "texts",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Score this UTF-8 file instead of the sources; may be given several times.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Answer this multiple-choice task (JSON lines: context, choices, answer); may be given several times.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    default=65536,
    show_default=True,
    help="Held-out tokens of each source, at most.",
)
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads (default: PyTorch's choice).")
@click.option("--at", "step", type=click.IntRange(min=0), metavar="STEP", help="The checkpoint (default: the newest).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def evaluate(
    folder: Path,
    texts: tuple[Path, ...],
    tasks: tuple[Path, ...],
    tokens: int,
    threads: int | None,
    step: int | None,
    as_json: bool,
) -> None:
    """Print how well the model of RUN, a run's folder, predicts its sources' held-out text.

    Bits per byte compare models with different tokenizers; lower is better.
    """
    from andrea_core.runs.evaluation import score_file, score_heldout
    from andrea_core.runs.trained import set_threads, trained_model_at

    if threads is not None:
        set_threads(threads)
    if tasks and texts:
        raise click.UsageError("--text and --task measure different things; ask for one at a time")
    if tasks:
        from andrea_core.runs.tasks import score_task

        model, tokenizer, step = trained_model_at(folder, step, note)
        answered = [score_task(model, tokenizer, path) for path in tasks]
        click.echo(_as_json(step, answered, "tasks") if as_json else _as_task_table(step, answered))
        return
    if texts:
        model, tokenizer, step = trained_model_at(folder, step, note)
        scores = [score_file(model, tokenizer, path) for path in texts]
    else:
        step, scores = score_heldout(folder, step, tokens, note)
    click.echo(_as_json(step, scores) if as_json else _as_table(step, scores))


def _as_json(step: int, scores: "list[Score] | list[TaskScore]", what: str = "scores") -> str:
    import json

    import attrs

    rows = [{key: None if value != value else value for key, value in attrs.asdict(one).items()} for one in scores]
    return json.dumps({"step": step, what: rows}, indent=1)


def _as_task_table(step: int, scores: "list[TaskScore]") -> str:
    width = max(len(one.name) for one in scores)
    lines = [f"step {step}", f"{'':{width}}  questions  accuracy  by character  chance"]
    for one in scores:
        figures = f"{one.questions:9}  {one.accuracy:8.3f}  {one.normalised:12.3f}  {one.chance:6.3f}"
        lines.append(f"{one.name:{width}}  {figures}")
    return "\n".join(lines)


def _as_table(step: int, scores: "list[Score]") -> str:
    width = max(len(one.name) for one in scores)
    lines = [f"step {step}", f"{'':{width}}  bits per byte  nats a token      tokens       bytes"]
    for one in scores:
        lines.append(
            f"{one.name:{width}}  {one.bits_per_byte:13.4f}  {one.nats:12.4f}  {one.tokens:10,}  {one.bytes:10,}"
        )
    known = [one.bits_per_byte for one in scores if one.bits_per_byte == one.bits_per_byte]
    if len(known) > 1:
        lines.append(f"{'mean':{width}}  {sum(known) / len(known):13.4f}")
    return "\n".join(lines)

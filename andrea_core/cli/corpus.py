"""`andrea corpus`: build, list and find the text that experiments train on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from andrea_core.contracts import SourceReader
    from andrea_core.data.documents import StoredDocuments

_SCENARIO = click.argument("scenario", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))


@click.group()
def corpus() -> None:
    """Build, list and find the text that experiments train on.

    Without SCENARIO the commands are about the 16 bundled sources.
    """


@corpus.command()
@_SCENARIO
@click.option("--wheels-only", is_flag=True, help="Leave source archives out, now and in later runs.")
@click.option("--local-text", is_flag=True, help="Add text of the running Python (other documents, other cache entry).")
@click.option("--cap-bytes", type=click.IntRange(min=1), metavar="N", help="Cut each source at N bytes of text.")
@click.option("--archives", metavar="FOLDER", help="Take the archives from FOLDER, by their file names.")
@click.option("--source", "names", multiple=True, metavar="NAME", help="Build this source only; may be repeated.")
def build(scenario: Path | None, wheels_only: bool, names: tuple[str, ...], **settings: Any) -> None:
    """Read, clean, split and encode the sources of SCENARIO; what the cache has is not built again.

    --wheels-only is remembered in the cache, so that runs agree with it; a build without it clears it. --local-text and
    --cap-bytes build other documents than a scenario does that does not set them on its sources.
    """
    from andrea_core.data.cache import set_preference
    from andrea_core.data.corpus import prepare
    from andrea_core.data.documents import find_documents

    readers, tokenizer = _sources(scenario, {name: value for name, value in settings.items() if value})
    chosen = _chosen(readers, names)
    set_preference("wheels_only", wheels_only)
    with _progress() as report:
        prepare(chosen, tokenizer, report=report)
    _table({name: find_documents(name, reader) for name, reader in chosen.items()})


@corpus.command(name="list")
@_SCENARIO
def list_(scenario: Path | None) -> None:
    """Print documents, bytes, held-out part, order-0 entropy and licence of each source; build nothing."""
    from andrea_core.data.documents import find_documents

    readers, _ = _sources(scenario, {})
    found = {name: find_documents(name, reader) for name, reader in readers.items()}
    _table(found)
    if not all(found.values()):
        click.echo(f"Not built yet; run `andrea corpus build{f' {scenario}' if scenario else ''}`.")


@corpus.command()
def where() -> None:
    """Print the folder of the cache."""
    from andrea_core.data.cache import cache_folder

    click.echo(cache_folder())


def _sources(scenario: Path | None, settings: Mapping[str, Any]) -> tuple[Mapping[str, "SourceReader"], Any]:
    """Return the readers and the tokenizer settings of a scenario, or of the bundled sources, with settings changed."""
    if scenario is None:
        from andrea_core.data.tokenizer import TokenizerSettings

        return bundled_readers(**settings), TokenizerSettings()
    from andrea_core.scenario import load

    loaded = load(scenario).scenario
    return {name: _changed(reader, settings) for name, reader in loaded.sources.items()}, loaded.tokenizer


def _changed(reader: Any, settings: Mapping[str, Any]) -> Any:
    import attrs

    known = attrs.fields_dict(type(reader)) if attrs.has(type(reader)) else {}
    return attrs.evolve(reader, **{name: value for name, value in settings.items() if name in known})


def bundled_readers(**settings: Any) -> Mapping[str, "SourceReader"]:
    """Return a reader for each source of the bundled recipe, with fields of the `registry` source set."""
    from andrea_core.plugins import Catalogue

    registry: Any = Catalogue.of().get("sources", "registry")
    reader = registry(**settings)
    return dict.fromkeys(reader.entries(), reader)


def _chosen(readers: Mapping[str, "SourceReader"], names: tuple[str, ...]) -> Mapping[str, "SourceReader"]:
    from andrea_core.errors import CorpusError
    from andrea_core.spelling import nearest

    for name in names:
        if name not in readers:
            raise CorpusError(f"--source {name}: there is no such source{nearest(name, readers)}")
    return {name: reader for name, reader in readers.items() if not names or name in names}


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Give a function that shows a line: as a status on a terminal, plainly elsewhere."""
    from rich.console import Console
    from rich.text import Text

    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        yield click.echo
        return
    with console.status("starting") as status:

        def show(line: str) -> None:
            status.update(Text(line))  # a name in brackets is a name, not markup
            console.print(line, highlight=False, markup=False)

        yield show


_HEAD: tuple[str, ...] = (
    "source",
    "documents",
    "bytes",
    "held-out documents",
    "held-out bytes",
    "order-0 bits/byte",
    "licence",
)


def _table(found: Mapping[str, "StoredDocuments | None"]) -> None:
    rows = [_HEAD, *(_row(name, documents) for name, documents in found.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for name, *numbers, licence in rows:
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
        click.echo("  ".join([name.ljust(widths[0]), *cells, licence]).rstrip())
    built = [documents for documents in found.values() if documents]
    documents, size = sum(one.documents for one in built), sum(one.bytes for one in built)
    click.echo(f"{len(built)} sources, {documents:,} documents, {size:,} bytes")


def _row(name: str, stored: "StoredDocuments | None") -> tuple[str, ...]:
    if stored is None:
        return (name, "-", "-", "-", "-", "-", "not built")
    counts = (stored.documents, stored.bytes, stored.heldout_documents, stored.heldout_bytes)
    return (name, *(f"{count:,}" for count in counts), f"{stored.order0:.2f}", "; ".join(stored.licences) or "-")

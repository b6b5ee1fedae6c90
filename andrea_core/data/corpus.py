"""Prepares the text of an experiment: documents and tokens of every source, both cached."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import attrs

from andrea_core.contracts import SourceReader
from andrea_core.data.cache import build_folder, cache_folder, digest
from andrea_core.data.documents import Report, StoredDocuments, find_documents, store_documents
from andrea_core.data.tokenfiles import Tokens, find_tokens, store_tokens
from andrea_core.data.tokenizer import Tokenizer, TokenizerSettings, from_json
from andrea_core.errors import AndreaError, CorpusError

LOGGER = "andrea.corpus"
"""The logger through which source readers tell what takes long, such as a download."""


@attrs.frozen(eq=False)
class PreparedSource:
    """A source ready for training; `fingerprint` is the digest of its documents.

    `documents` and `bytes` count both sides, `heldout_documents` and `heldout_bytes` the held-out side; `order0` is the
    order-0 entropy of the held-out bytes, in bits per byte.
    """

    name: str
    train: Tokens
    heldout: Tokens
    documents: int
    bytes: int
    heldout_documents: int
    heldout_bytes: int
    licences: tuple[str, ...]
    fingerprint: str
    order0: float


@attrs.frozen(eq=False)
class Corpus:
    """The text of an experiment: its tokenizer, and its sources in the scenario's order."""

    tokenizer: Tokenizer
    sources: tuple[PreparedSource, ...]


def prepare(
    readers: Mapping[str, SourceReader], tokenizer: TokenizerSettings, *, report: Report | None = None
) -> Corpus:
    """Return the corpus of some sources, reading and encoding what the cache does not have.

    Args:
        readers: a reader for each source, by name.
        tokenizer: which tokenizer to build.
        report: is called with short lines that say what goes on.

    Raises:
        CorpusError: text that cannot be had, read, or split; the message names the source and the remedy.
    """
    tell = report or (lambda _line: None)
    with _forwarded(tell):
        documents = [_stored(name, reader, tell) for name, reader in readers.items()]
        built = _tokenizer(documents, tokenizer, tell)
        return Corpus(built, tuple(_prepared(stored, built, tell) for stored in documents))


def find_epochs(readers: Mapping[str, SourceReader], settings: TokenizerSettings) -> dict[str, int] | None:
    """Return the tokens of one epoch of each source, separators included; None unless the cache has all of them.

    Builds nothing. Raises CorpusError when a source's own text is not there.
    """
    found = [find_documents(name, reader) for name, reader in readers.items()]
    documents = [stored for stored in found if stored is not None]
    if len(documents) < len(found):
        return None
    if settings.use != "bytes" and not _tokenizer_folder(documents, settings).is_dir():
        return None
    tokenizer = _tokenizer(documents, settings, lambda _line: None)
    sides = {stored.name: find_tokens(stored, tokenizer) for stored in documents}
    trains = {name: side[0] for name, side in sides.items() if side is not None}
    if len(trains) < len(sides):
        return None
    return {name: len(train.tokens) + len(train) for name, train in trains.items()}


def _stored(name: str, reader: SourceReader, report: Report) -> StoredDocuments:
    """Return a source's documents; whatever its reader raises becomes a CorpusError that names the source."""
    try:
        return store_documents(name, reader, report)
    except (AndreaError, OSError):
        raise
    except (Exception, SystemExit) as error:
        reading = type(reader).__qualname__
        raise CorpusError(
            f"Source {name!r}: its reader {reading} failed with {type(error).__name__}: {error}. Mend the plugin."
        ) from error


def _prepared(stored: StoredDocuments, tokenizer: Tokenizer, report: Report) -> PreparedSource:
    train, heldout = store_tokens(stored, tokenizer, report)
    return PreparedSource(
        name=stored.name,
        train=train,
        heldout=heldout,
        documents=stored.documents,
        bytes=stored.bytes,
        heldout_documents=stored.heldout_documents,
        heldout_bytes=stored.heldout_bytes,
        licences=stored.licences,
        fingerprint=stored.digest,
        order0=stored.order0,
    )


def _tokenizer(documents: list[StoredDocuments], settings: TokenizerSettings, report: Report) -> Tokenizer:
    def texts() -> Iterator[str]:
        return chain.from_iterable(_head(stored.training_texts(), settings.training_bytes) for stored in documents)

    if settings.use == "bytes":
        return settings.build(texts)
    folder = build_folder(
        _tokenizer_folder(documents, settings), lambda folder: _train(settings, texts, report, folder)
    )
    return from_json((folder / "tokenizer.json").read_text(encoding="utf-8"))


def _tokenizer_folder(documents: list[StoredDocuments], settings: TokenizerSettings) -> Path:
    key = digest(1, attrs.asdict(settings), [(stored.name, stored.digest) for stored in documents])
    return cache_folder() / "tokenizers" / key[:32]


def _train(settings: TokenizerSettings, texts: Callable[[], Iterator[str]], report: Report, folder: Path) -> None:
    report(f"tokenizer: learning {settings.vocabulary:,} tokens")
    (folder / "tokenizer.json").write_text(settings.build(texts).to_json(), encoding="utf-8")


def _head(texts: Iterator[str], limit: int) -> Iterator[str]:
    left = limit
    for text in texts:
        left -= len(text.encode())
        if left < 0:
            return
        yield text


class _Forward(logging.Handler):
    def __init__(self, report: Report) -> None:
        super().__init__(logging.INFO)
        self.report = report

    def emit(self, record: logging.LogRecord) -> None:
        self.report(record.getMessage())


@contextmanager
def _forwarded(report: Report) -> Iterator[None]:
    logger, handler = logging.getLogger(LOGGER), _Forward(report)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)

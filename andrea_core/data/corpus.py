"""Prepares the text of an experiment: documents and tokens of every source, both cached."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import attrs

from andrea_core.contracts import SourceReader
from andrea_core.data.cache import build_folder, cache_folder, digest
from andrea_core.data.documents import Report, StoredDocuments, store_documents
from andrea_core.data.tokenfiles import Tokens, store_tokens
from andrea_core.data.tokenizer import Tokenizer, TokenizerSettings, from_json

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
        documents = [store_documents(name, reader, tell) for name, reader in readers.items()]
        built = _tokenizer(documents, tokenizer, tell)
        return Corpus(built, tuple(_prepared(stored, built, tell) for stored in documents))


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
    key = digest(1, attrs.asdict(settings), [(stored.name, stored.digest) for stored in documents])
    folder = build_folder(
        cache_folder() / "tokenizers" / key[:32],
        lambda folder: _train(settings, texts, report, folder),
    )
    return from_json((folder / "tokenizer.json").read_text(encoding="utf-8"))


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

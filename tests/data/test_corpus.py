import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea_core.data.corpus import LOGGER, prepare
from andrea_core.data.documents import find_documents
from andrea_core.data.text import normalise
from andrea_core.data.tokenizer import TokenizerSettings
from andrea_core.errors import CorpusError

BYTES = TokenizerSettings()
TEXTS = [f"document number {number}: " + "äbc " * (number % 7) for number in range(60)]


def test_tokens_of_both_sides_are_the_documents(reader: Any) -> None:
    corpus = prepare({"mine": reader(TEXTS)}, BYTES)
    source = corpus.sources[0]
    decode = corpus.tokenizer.decode
    train = [decode(source.train[index]) for index in range(len(source.train))]
    heldout = [decode(source.heldout[index]) for index in range(len(source.heldout))]
    assert sorted(train + heldout) == sorted(TEXTS)
    assert train == [text for text in TEXTS if text in set(train)]
    assert source.documents == 60
    assert source.bytes == sum(len(text.encode()) for text in TEXTS)
    assert (source.heldout_documents, source.heldout_bytes) == (len(heldout), sum(len(t.encode()) for t in heldout))
    assert source.licences == ("CC0",)
    assert source.train.tokens.dtype == np.uint16
    assert source.train.offsets.dtype == np.int64
    assert isinstance(source.train.tokens, np.memmap)


def test_order0_is_the_byte_entropy_of_the_heldout_text(reader: Any) -> None:
    corpus = prepare({"mine": reader(TEXTS)}, BYTES)
    source = corpus.sources[0]
    counts = np.bincount(np.asarray(source.heldout.tokens))
    shares = counts[counts > 0] / counts.sum()
    assert source.order0 == pytest.approx(-(shares * np.log2(shares)).sum(), abs=1e-12)


def test_both_layers_are_reused(reader: Any, cache: Path) -> None:
    mine = reader(TEXTS)
    first = prepare({"mine": mine}, BYTES)
    lines: list[str] = []
    second = prepare({"mine": mine}, BYTES, report=lines.append)
    assert mine.calls == 1
    assert lines == []
    assert first.sources[0].fingerprint == second.sources[0].fingerprint
    prepare({"mine": mine}, TokenizerSettings("bpe", 280), report=lines.append)
    assert mine.calls == 1
    assert lines == ["tokenizer: learning 280 tokens", "mine: writing tokens"]


def test_another_fingerprint_reads_again_and_equal_documents_keep_their_tokens(reader: Any) -> None:
    prepare({"mine": reader(TEXTS)}, BYTES)
    other = reader(TEXTS, key="v2")
    lines: list[str] = []
    prepare({"mine": other}, BYTES, report=lines.append)
    assert other.calls == 1
    assert not any("tokens" in line for line in lines)


def test_the_fingerprint_follows_the_documents(reader: Any) -> None:
    one = prepare({"mine": reader(TEXTS)}, BYTES).sources[0].fingerprint
    two = prepare({"mine": reader([*TEXTS, "more"], key="v2")}, BYTES).sources[0].fingerprint
    three = prepare({"mine": reader(TEXTS, groups=["a", "b"] * 30, key="v3")}, BYTES).sources[0].fingerprint
    assert len({one, two, three}) == 3


def test_equal_texts_without_group_fall_on_one_side(reader: Any) -> None:
    texts = [f"Text, {number}!" for number in range(40)] + [f"text {number}" for number in range(40)]
    corpus = prepare({"mine": reader(texts)}, BYTES)
    source = corpus.sources[0]
    decode = corpus.tokenizer.decode
    heldout = [normalise(decode(source.heldout[index])) for index in range(len(source.heldout))]
    assert heldout
    assert all(heldout.count(text) == 2 for text in heldout)


@pytest.mark.parametrize(
    ("texts", "groups", "message"),
    [
        ([], [], r"'mine' has no documents"),
        (["a", "b"], ["g", "g"], r"'mine' is too small to hold text out: all of its 2 documents"),
        ([""] * 40, [], r"All documents of source 'mine' are empty"),
        ([""] * 40, [f"g{number}" for number in range(40)], r"All documents of source 'mine' are empty"),
        (["text", *[""] * 40], [f"g{number}" for number in range(41)], r"'mine' is too small to hold text out"),
        (["fine", 5], [], r"The text of document 2 of source 'mine' is no text: 5"),
        (["a", "b"], ["fine", "\ud800"], r"Document 2 of source 'mine'.*character 0 of its group"),
        (["fine", "bad \ud800"], [], r"Document 2 of source 'mine' cannot be written as UTF-8.*character 4"),
    ],
)
def test_sources_that_cannot_be_split_are_named(
    reader: Any, cache: Path, texts: list[str], groups: list[str], message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        prepare({"mine": reader(texts, groups)}, BYTES)
    assert not [path for path in (cache / "documents").iterdir() if not path.name.startswith(".")]


def test_a_reader_can_report_through_the_logger(reader: Any) -> None:
    class Loud(reader):  # type: ignore[misc]
        def documents(self, name: str) -> Any:
            logging.getLogger(LOGGER).info("downloading %s", name)
            yield from super().documents(name)

    lines: list[str] = []
    prepare({"mine": Loud(TEXTS)}, BYTES, report=lines.append)
    assert "downloading mine" in lines
    assert logging.getLogger(LOGGER).handlers == []


def test_finding_documents_builds_nothing(reader: Any) -> None:
    mine = reader(TEXTS)
    assert find_documents("mine", mine) is None
    prepare({"mine": mine}, BYTES)
    found = find_documents("mine", mine)
    assert found is not None
    assert list(found.texts()) == TEXTS
    assert mine.calls == 1


def test_byte_pairs_learn_from_training_text_only(reader: Any) -> None:
    corpus = prepare({"mine": reader(TEXTS)}, BYTES)
    heldout = {corpus.tokenizer.decode(corpus.sources[0].heldout[i]) for i in range(len(corpus.sources[0].heldout))}
    found = find_documents("mine", reader(TEXTS))
    assert found is not None
    assert heldout.isdisjoint(found.training_texts())


def test_no_more_than_the_training_bytes_of_a_source_are_learned_from(reader: Any) -> None:
    settings = TokenizerSettings("bpe", 300, training_bytes=10)
    assert prepare({"mine": reader(TEXTS)}, settings).tokenizer.vocabulary == 257

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.data.bpe import BpeTokenizer
from andrea_core.data.tokenizer import ByteTokenizer, Tokenizer, TokenizerSettings, from_json
from andrea_core.errors import CorpusError

TEXTS = [
    "the cat sat on the mat, the cat sat again\n" * 20,
    "naïve façade — Füße, 東京, 🙂 and the rest",
    "def f(x):\n    return x\n",
]


def _bpe(vocabulary: int = 300) -> Tokenizer:
    return TokenizerSettings("bpe", vocabulary).build(lambda: iter(TEXTS))


@pytest.fixture(scope="module", params=["bytes", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return TokenizerSettings(request.param, 300).build(lambda: iter(TEXTS))


@given(text=st.text())
def test_any_text_comes_back_exactly(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert ids.dtype == np.uint16
    assert tokenizer.decode(ids) == text
    assert tokenizer.byte_lengths[ids].sum() == len(text.encode())
    assert tokenizer.separator not in ids


@given(text=st.text())
def test_a_stored_tokenizer_encodes_alike(tokenizer: Tokenizer, text: str) -> None:
    again = from_json(tokenizer.to_json())
    assert (again.digest, again.vocabulary, again.name) == (tokenizer.digest, tokenizer.vocabulary, tokenizer.name)
    assert np.array_equal(again.encode(text), tokenizer.encode(text))


@given(ids=st.lists(st.integers(0, 256)))
def test_any_tokens_decode_to_some_text(tokenizer: Tokenizer, ids: list[int]) -> None:
    without = [number for number in ids if number != tokenizer.separator]
    assert tokenizer.decode(ids) == tokenizer.decode(without) == bytes(without).decode("utf-8", "replace")


def test_bytes_are_the_first_tokens_and_the_separator_has_no_bytes(tokenizer: Tokenizer) -> None:
    lengths = tokenizer.byte_lengths
    assert lengths.shape == (tokenizer.vocabulary,)
    assert lengths[tokenizer.separator] == 0
    assert (lengths[:256] == 1).all()
    assert (lengths[257:] >= 2).all()


def test_the_vocabulary_counts_bytes_and_separator() -> None:
    assert ByteTokenizer().vocabulary == 257
    assert _bpe(300).vocabulary == 300
    assert _bpe(257).vocabulary == 257


def test_byte_pairs_shorten_the_text_they_learned_from() -> None:
    assert len(_bpe().encode(TEXTS[0])) < len(TEXTS[0]) / 2


def test_byte_pairs_are_the_same_in_another_process() -> None:
    code = (
        "from andrea_core.data.tokenizer import TokenizerSettings\n"
        f"print(TokenizerSettings('bpe', 300).build(lambda: iter({TEXTS!r})).digest)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == _bpe().digest


def test_the_separator_cannot_be_written_in_a_text() -> None:
    bpe = _bpe()
    assert isinstance(bpe, BpeTokenizer)
    assert bpe.separator not in bpe.encode(" separator")


@pytest.mark.parametrize("text", ["", "[]", '{"use": "other"}', '{"use": "bpe"}', '{"use": "bpe", "merges": [1]}'])
def test_what_is_no_stored_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(CorpusError, match="no stored tokenizer"):
        from_json(text)


@pytest.mark.parametrize(("vocabulary", "message"), [(256, "at least 257"), (65_537, "at most 65536")])
def test_a_vocabulary_out_of_bounds_is_refused(vocabulary: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TokenizerSettings("bpe", vocabulary)


def test_without_the_library_byte_pairs_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(CorpusError, match=r"andrea\[tokenizers\]"):
        _bpe()


def test_merges_of_older_library_versions_are_understood() -> None:
    merges = json.loads(_bpe().to_json())["merges"]
    from andrea_core.data.bpe import _pair

    assert _pair(" ".join(merges[0])) == tuple(merges[0])

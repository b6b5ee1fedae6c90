from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from andrea_core.data.text import (
    cut_long,
    cut_passages,
    decode_text,
    hash64,
    normalise,
    paragraphs,
    read_lines,
    read_parts,
    text_key,
    unwrap,
)
from andrea_core.errors import CorpusError


def test_hash64_is_the_first_eight_bytes_of_sha256_with_nul_between_the_parts() -> None:
    assert hash64("") == 0xE3B0C44298FC1C14  # sha256 of nothing, FIPS 180-4
    assert hash64("a", "b") == hash64("a\0b") != hash64("ab")


def test_decoding_drops_the_mark_unifies_line_ends_and_falls_back_to_windows_1252() -> None:
    assert decode_text(b"\xef\xbb\xbfa\r\r\nb\rc\r\nd\n") == "a\nb\nc\nd\n"
    assert decode_text(b"caf\xe9 \x93x\x94") == "caf\u00e9 \u201cx\u201d"


def test_normalising_ignores_case_and_punctuation() -> None:
    assert normalise("  To be, or NOT to be?\n") == "to be or not to be"
    assert text_key("Hello, World!") == text_key("hello world") != text_key("hello worlds")


def test_unwrapping_joins_lines_with_one_blank_and_keeps_blanks_inside_a_line() -> None:
    assert unwrap(" a  b \n\n  c\n") == "a  b c"


def test_paragraphs_keep_their_indentation() -> None:
    assert paragraphs("a\nb\n \n    c\n\n\nd\n") == ["a\nb", "    c", "d"]


def test_a_passage_closes_at_the_first_number_and_never_exceeds_the_second() -> None:
    parts = [letter * 50 for letter in "abcdefgh"]
    passages = list(cut_passages(parts, (100, 200)))
    assert [passage.split("\n\n") for passage in passages] == [parts[0:2], parts[2:4], parts[4:6], parts[6:8]]
    assert all(len(passage) <= 120 for passage in cut_passages(parts, (110, 120)))


def test_a_short_last_passage_joins_the_one_before_only_where_both_fit() -> None:
    body, tail = "a" * 2100, "b" * 300
    assert list(cut_passages([body, tail])) == [f"{body}\n\n{tail}"]
    assert list(cut_passages([body, "c" * 500])) == [body, "c" * 500]
    assert list(cut_passages(["a" * 3500, tail])) == ["a" * 3500, tail]


@given(st.lists(st.text("ab .!?\n", min_size=1, max_size=300), max_size=20))
def test_passages_lose_no_letter_and_keep_their_limit(parts: list[str]) -> None:
    passages = list(cut_passages(parts, (80, 120)))
    assert all(len(passage) <= 120 for passage in passages)
    assert [c for passage in passages for c in passage if c in "ab.!?"] == [c for p in parts for c in p if c in "ab.!?"]


def test_a_long_paragraph_is_cut_at_sentence_ends_and_a_long_sentence_at_a_blank() -> None:
    assert cut_long("One two. Three four! Five.", 15) == ["One two.", "Three four!", "Five."]
    assert cut_long('He said "no." Then left.', 15) == ['He said "no."', "Then left."]
    assert cut_long("aaaa bbbb cccc dddd", 10) == ["aaaa bbbb", "cccc dddd"]
    assert cut_long("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_lines_are_read_in_chunks_as_they_would_be_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("andrea_core.data.text._CHUNK_BYTES", 3)
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffäö\r\nü\r\r\n\nzz\rlast".encode())
    assert list(read_lines(path)) == ["äö", "ü", "", "zz", "last"]
    assert list(read_parts(path)) == ["äö\nü", "zz\nlast"]


def test_a_file_that_is_not_utf8_is_refused_with_file_and_byte_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("andrea_core.data.text._CHUNK_BYTES", 4)
    path = tmp_path / "latin.txt"
    path.write_bytes("aäaäaä".encode() + b"caf\xe9 x")
    with pytest.raises(CorpusError, match=r"latin\.txt is not utf-8: byte 0xe9 at offset 12\. Convert"):
        list(read_lines(path))


def test_a_file_that_ends_inside_a_character_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.txt"
    path.write_bytes(b"abc\xc3")
    with pytest.raises(CorpusError, match="offset 3"):
        list(read_lines(path))


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.txt cannot be read"):
        list(read_lines(tmp_path / "none.txt"))

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from andrea_core import CorpusError
from andrea_plugins.sources.datasets import HuggingFace
from andrea_plugins.sources.jsonl import Jsonl
from andrea_plugins.sources.parquet import Parquet
from andrea_plugins.sources.textfiles import Text


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_patterns_are_relative_sorted_and_give_each_file_once(here: Path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.txt"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(f"text of {name}")
    texts = [document.text for document in Text(("*.txt", "**/*.txt")).documents("mine")]
    assert texts == ["text of a.txt", "text of b.txt", "text of sub/c.txt"]


def test_the_home_folder_may_be_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / "a.txt").write_text("text")
    assert [document.text for document in Text(("~/a.txt",)).documents("mine")] == ["text"]


def test_a_pattern_without_files_is_named() -> None:
    with pytest.raises(CorpusError, match=r"Source 'mine': no file matches 'none/\*\.txt'"):
        list(Text(("none/*.txt",)).documents("mine"))
    with pytest.raises(CorpusError, match="no file matches"):
        Text(("none/*.txt",)).fingerprint("mine")


def test_no_files_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one file"):
        Text(())


def test_a_long_file_becomes_passages_four_to_a_group(here: Path) -> None:
    (here / "a.txt").write_text("\n\n".join(f"paragraph {number} " + "x" * 2000 for number in range(10)))
    documents = list(Text(("a.txt",)).documents("mine"))
    assert [document.text[:12] for document in documents] == [f"paragraph {number} "[:12] for number in range(10)]
    groups = [document.group for document in documents]
    assert [groups.index(group) for group in groups] == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_copies_of_a_file_share_their_groups(here: Path) -> None:
    (here / "a.txt").write_text("The same text.\n")
    (here / "b.txt").write_text("the same TEXT\r\n")
    groups = {document.group for document in Text(("*.txt",)).documents("mine")}
    assert len(groups) == 1


def test_an_uncut_file_is_one_document(here: Path) -> None:
    (here / "a.txt").write_bytes(b"one\r\n\r\ntwo\r\n")
    assert [d.text for d in Text(("a.txt",), cut="none", licence="CC0").documents("mine")] == ["one\n\ntwo"]


def test_other_encodings_can_be_named(here: Path) -> None:
    (here / "a.txt").write_bytes(b"caf\xe9")
    assert [d.text for d in Text(("a.txt",), encoding="latin-1").documents("mine")] == ["café"]
    with pytest.raises(CorpusError, match=r"a\.txt is not utf-8: byte 0xe9 at offset 3"):
        list(Text(("a.txt",)).documents("mine"))
    with pytest.raises(ValueError, match="text encoding"):
        Text(("a.txt",), encoding="klingon")


@pytest.mark.parametrize("kind", [Text, Jsonl, Parquet])
def test_fingerprints_follow_the_files_and_the_settings(here: Path, kind: Any) -> None:
    path = here / "a"
    path.write_text('{"text": "a"}')
    first = kind(("a",)).fingerprint("mine")
    assert kind(("a",)).fingerprint("mine") == first
    assert kind(("a",), licence="MIT").fingerprint("mine") != first
    os.utime(path, ns=(1, 1))
    second = kind(("a",)).fingerprint("mine")
    assert second != first
    (here / "b").write_text("x")
    assert kind(("a", "b")).fingerprint("mine") != second


def _jsonl(path: Path, *rows: Any) -> None:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))


def test_json_lines_give_field_and_group(here: Path) -> None:
    _jsonl(here / "a.jsonl", {"body": "one", "who": 1}, "\n", {"body": "two", "who": 2}, {"body": "  ", "who": 2})
    documents = list(Jsonl(("a.jsonl",), field="body", group="who", licence="CC0").documents("mine"))
    assert [(d.text, d.group, d.licence, d.origin) for d in documents] == [
        ("one", "1", "CC0", "a.jsonl:1"),
        ("two", "2", "CC0", "a.jsonl:3"),
    ]
    assert [d.group for d in Jsonl(("a.jsonl",), field="body").documents("mine")] == ["", ""]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops\n", r"a\.jsonl:2 is no valid JSON"),
        ("[1]\n", r"a\.jsonl:2 is no JSON object"),
        ('{"other": "x"}\n', r"a\.jsonl:2: the field 'text' is missing"),
        ('{"text": 7}\n', r"a\.jsonl:2: the field 'text' holds int, not text"),
        ('{"text": "a\\ud800"}\n', r"a\.jsonl:2: the field 'text' holds a lone surrogate at character 1"),
    ],
)
def test_bad_json_lines_are_named_with_file_and_line(here: Path, line: str, message: str) -> None:
    _jsonl(here / "a.jsonl", {"text": "fine"}, line)
    with pytest.raises(CorpusError, match=message):
        list(Jsonl(("a.jsonl",)).documents("mine"))


def test_a_missing_group_is_named(here: Path) -> None:
    _jsonl(here / "a.jsonl", {"text": "fine"})
    with pytest.raises(CorpusError, match=r"a\.jsonl:1: the field 'who' is missing"):
        list(Jsonl(("a.jsonl",), group="who").documents("mine"))


def test_parquet_columns_are_read_in_batches(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("andrea_plugins.sources.parquet._BATCH", 2)
    table = pyarrow.table({"text": ["a", None, "", "d", "e"], "who": [1, 1, 2, 2, 3]})
    parquet.write_table(table, here / "a.parquet")
    documents = list(Parquet(("a.parquet",), group="who").documents("mine"))
    assert [(d.text, d.group, d.origin) for d in documents] == [
        ("a", "1", "a.parquet, row 1"),
        ("d", "2", "a.parquet, row 4"),
        ("e", "3", "a.parquet, row 5"),
    ]
    assert [d.group for d in Parquet(("a.parquet",)).documents("mine")] == ["", "", ""]


def test_parquet_faults_are_named(here: Path) -> None:
    parquet.write_table(pyarrow.table({"body": ["a"], "n": [1]}), here / "a.parquet")
    (here / "b.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(CorpusError, match=r"a\.parquet has no column 'text'. It has: body, n"):
        list(Parquet(("a.parquet",)).documents("mine"))
    with pytest.raises(CorpusError, match=r"row 1: the field 'n' holds int"):
        list(Parquet(("a.parquet",), column="n").documents("mine"))
    with pytest.raises(CorpusError, match=r"b\.parquet cannot be read as Parquet"):
        list(Parquet(("b.parquet",)).documents("mine"))


def test_parquet_without_its_library_names_the_extra(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r"andrea\[parquet\]"):
        list(Parquet(("a.parquet",)).documents("mine"))


def _hub(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    module = ModuleType("datasets")
    module.load_dataset = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_data_sets_are_streamed_with_their_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load(*arguments: Any, **settings: Any) -> list[dict[str, Any]]:
        asked.append((arguments, settings))
        return [{"body": "one", "who": 5}, {"body": "", "who": 5}, {"body": "two", "who": 6}]

    _hub(monkeypatch, load)
    reader = HuggingFace("some/set", name="en", field="body", group="who", revision="abc")
    assert [(d.text, d.group) for d in reader.documents("mine")] == [("one", "5"), ("two", "6")]
    assert asked[0][0] == ("some/set", "en")
    assert asked[0][1]["streaming"] is True
    assert asked[0][1]["revision"] == "abc"
    assert reader.fingerprint("mine") != HuggingFace("some/set").fingerprint("mine")


def test_data_set_faults_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _hub(monkeypatch, lambda *_, **__: [{"other": "x"}])
    with pytest.raises(CorpusError, match=r"some/set \[train\], row 1: the field 'text' is missing"):
        list(HuggingFace("some/set").documents("mine"))

    def refuse(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError("no such set")

    _hub(monkeypatch, refuse)
    with pytest.raises(CorpusError, match=r"'mine': the data set 'some/set' cannot be read: no such set"):
        list(HuggingFace("some/set").documents("mine"))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CorpusError, match=r"andrea\[hf\]"):
        list(HuggingFace("some/set").documents("mine"))


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "undefined", "nonsense", "", "a\0b"])
def test_an_encoding_that_makes_no_text_is_refused(encoding: str) -> None:
    with pytest.raises(ValueError, match="encoding must be a text encoding"):
        Text(("a.txt",), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "cp1252", "shift_jis"])
def test_encodings_of_text_are_taken(here: Path, encoding: str) -> None:
    (here / "a.txt").write_text("plain text", encoding=encoding)
    assert [document.text for document in Text(("a.txt",), encoding=encoding).documents("mine")] == ["plain text"]


@pytest.mark.parametrize(
    ("encoding", "data"), [("unicode_escape", rb"lone \ud800 half"), ("idna", b"xn--\xff"), ("utf-7", b"+2AA-")]
)
def test_bytes_that_a_codec_cannot_turn_into_text_are_named(here: Path, encoding: str, data: bytes) -> None:
    (here / "a.txt").write_bytes(data)
    with pytest.raises(CorpusError, match=rf"a\.txt is not {encoding}"):
        list(Text(("a.txt",), encoding=encoding).documents("mine"))


def test_a_home_folder_that_nobody_has_is_refused() -> None:
    with pytest.raises(ValueError, match="files must start in a known home folder"):
        Text(("~nobody-has-this-name/x",))


def test_json_that_nests_too_deep_is_named(here: Path) -> None:
    (here / "a.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(CorpusError, match="jsonl:1 nests too deep"):
        list(Jsonl(("a.jsonl",)).documents("mine"))

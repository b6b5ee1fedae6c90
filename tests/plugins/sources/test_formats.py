"""Formats of prose and talk: databases, conversations, countries, novels, plays, glosses."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from andrea_core import hash64
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.formats import FORMATS
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry


def _read(
    format_: str, text: str | bytes, path: str = "pkg/a.txt", options: dict[str, Any] | None = None, **fields: Any
) -> list[Piece]:
    data = text.encode() if isinstance(text, str) else text
    entry = Entry(format_, "MIT", archive="box", options=options or {}, **fields)
    return list(FORMATS[format_](entry, [Member(path, data)]))


def _database(tmp_path: Path, table: str, rows: list[tuple[Any, ...]]) -> bytes:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table t ({table})")
        connection.executemany(f"insert into t values ({','.join('?' * len(rows[0]))})", rows)
    connection.close()
    return path.read_bytes()


def test_questions_pick_their_wording_by_the_hash_of_the_id(tmp_path: Path) -> None:
    rows = [(7, "Ada", '"Count."', number, "Think\n twice.") for number in range(6)]
    options = {
        "query": "select * from t order by i",
        "columns": ["group", "author", "quote", "id", "answer"],
        "questions": ["{author}: {quote}", "What is {quote}", "Explain {quote}"],
        "group": "q{group}",
    }
    data = _database(tmp_path, "g, author, quote, i, answer", rows)
    pieces = _read("sqlite-qa", data, options=options)
    wordings = ["Ada: Count.", "What is Count.", "Explain Count."]
    expected = [wordings[hash64(str(number)) % 3] for number in range(6)]
    assert [piece.text for piece in pieces] == [f"User: {question}\nAssistant: Think twice." for question in expected]
    assert {piece.group for piece in pieces} == {"q7"}


def test_verses_lose_their_numbers_and_stand_under_their_chapter(tmp_path: Path) -> None:
    rows = [
        ("Job", 1, "1:1 In the land.  1:2 And there"),
        ("Job", 1, "1:3 were"),
        ("Job", 2, "2:1 Again"),
        ("No", 1, "x"),
    ]
    options = {"query": "select * from t", "books": ["Job"]}
    pieces = _read("sqlite-verses", _database(tmp_path, "b, c, p", rows), options=options)
    assert pieces == [Piece("Job 1", "Job 1\nIn the land.  And there were"), Piece("Job 2", "Job 2\nAgain")]


def _talk(*turns: list[tuple[str, str]]) -> dict[str, Any]:
    messages = [[{"sender": who, "text": text, "timestamp": "2018-10-15T07:22:37Z"} for who, text in t] for t in turns]
    return {"messages": messages, "prompt": "Why?"}


TALK = _talk([("x", "Hi\nthere"), ("x", "you")], [("y", " ")], [("y", "Yes")], [("x", "Bye")])


@pytest.mark.parametrize(
    ("render", "lines"),
    [
        ("letters", ["A: Hi there you", "B: Yes", "A: Bye"]),
        ("topic", ["Topic: Why?", "User: Hi there you", "Assistant: Yes", "User: Bye"]),
    ],
)
def test_conversations_are_one_line_a_turn(render: str, lines: list[str]) -> None:
    options = {"min_turns": 3, "buckets": list(range(10)), "render": render}
    pieces = _read("turns-json", json.dumps({"id": TALK}), options=options)
    assert pieces == [Piece("id", "\n".join(lines))]


def test_channel_lines_carry_the_time_and_an_invented_nick() -> None:
    options = {"min_turns": 3, "buckets": list(range(10)), "render": "irc"}
    text = _read("turns-json", json.dumps({"id": TALK}), options=options)[0].text
    nick = f"nick{hash64('x') % 97:02d}"
    assert text.split("\n")[:2] == [f"[07:22] <{nick}> Hi there", f"[07:22] <{nick}> you"]


def test_short_and_one_sided_conversations_and_other_buckets_are_left_out() -> None:
    alone = _talk([("x", "a")], [("x", "b")], [("x", "c")])
    talks = {"short": _talk([("x", "a")], [("y", "b")]), "alone": alone, "good": TALK}
    bucket = hash64("box", "good") % 10
    options = {"min_turns": 3, "buckets": [bucket], "render": "letters"}
    assert [piece.group for piece in _read("turns-json", json.dumps(talks), options=options)] == ["good"]
    options["buckets"] = [(bucket + 1) % 10]
    assert "good" not in [piece.group for piece in _read("turns-json", json.dumps(talks), options=options)]


LAND = {
    "Government": {"Country name": {"conventional short form": {"text": "Freedonia (new); old"}}},
    "Land": {
        "Seas": {"text": "<strong>note:</strong> two seas &amp; a lake<br>and <em>rivers</em>"},
        "Hills": {"text": "Low. Very low. Rather low indeed."},
    },
}
TOPICS = [["Land > Seas", "Which seas has {c}?"], ["Land > Hills", "How high is {c}?"], ["Land > None", "What of {c}?"]]


def test_country_answers_are_plain_text_cut_at_a_sentence() -> None:
    options = {"topics": TOPICS, "min_answer_chars": 5, "max_answer_chars": 16, "turns_per_doc": 1}
    pieces = _read("factbook-json", json.dumps(LAND), "data/eu/fr.json", options)
    texts = {piece.text for piece in pieces}
    assert "User: How high is Freedonia?\nAssistant: Low. Very low." in texts
    assert {piece.group for piece in pieces} == {"fr"}


def test_country_answers_are_grouped_and_never_repeated() -> None:
    options = {"topics": TOPICS, "min_answer_chars": 5, "max_answer_chars": 900, "turns_per_doc": 3}
    pieces = _read("factbook-json", json.dumps(LAND), "data/eu/fr.json", options)
    assert len(pieces) == 1
    assert pieces[0].text.count("User: ") == 2
    assert "Assistant: two seas & a lake\nand rivers" in pieces[0].text
    entry = Entry("factbook-json", "PD", archive="box", options=options)
    twice = [Member("data/eu/fr.json", json.dumps(LAND).encode()), Member("data/eu/xx.json", json.dumps(LAND).encode())]
    assert len(list(FORMATS["factbook-json"](entry, twice))) == 1


def test_facts_are_single_short_lines() -> None:
    options = {"topics": TOPICS, "max_answer_chars": 60, "per_group": 2}
    pieces = _read("factbook-facts", json.dumps(LAND), "data/eu/fr.json", options)
    assert [piece.text for piece in pieces] == [
        "User: How high is Freedonia?\nAssistant: Low. Very low. Rather low indeed."
    ]


def test_a_country_without_a_name_gives_nothing() -> None:
    nameless = LAND | {"Government": {"Country name": {"conventional short form": {"text": "none"}}}}
    options = {"topics": TOPICS, "max_answer_chars": 60, "per_group": 2}
    assert _read("factbook-facts", json.dumps(nameless), "fr.json", options) == []


PROSE = (
    "It was a long and rather quiet evening in the old house by the river, and " + "nobody said a word to anyone " * 5
)


def test_novels_lose_front_matter_notes_marks_and_editors() -> None:
    text = (
        f"A TITLE\n\nshort start\n\n{PROSE}\n\n_Well_,[3] he said[Footnote: an aside] to the sea-\nside\r\r\ncrowd.\n\n"
        "[12] A note.\n\n* * *\n\nThis etext was made by volunteers.\n\nThe end,2 he said."
    )
    pieces = _read("novel", text, "books/one.txt", {"strip_note_digits": True})
    assert pieces == [
        Piece("one.txt#0", f"{PROSE.strip()}\n\nWell, he said to the sea-side crowd.\n\nThe end, he said."),
    ]


def test_novels_group_neighbouring_passages() -> None:
    text = "\n\n".join(PROSE + str(number) for number in range(12))
    pieces = _read("novel", text, "one.txt", group_passages=2, passage_chars=(100, 400))
    assert [piece.group for piece in pieces] == [f"one.txt#{number // 2}" for number in range(12)]


def test_plays_become_speeches_under_title_act_and_scene() -> None:
    text = (
        "# The Play\n\n## ACT II\n\n### SCENE I. A hall.\n\n_Enter ANN_\n\n"
        "**ANN**  \nWho's there?  \n_\\[Aside]_  \nMe\\.\n\n"
        "**BOB**  \nNay.\n\n### SCENE II.\n\n**ANN**  \nGone."
    )
    pieces = _read("play-markdown", text, "plays/a/p.md")
    assert pieces[0].text == (
        "The Play, Act II, SCENE I. A hall.\n[Enter ANN]\nANN: Who's there?\n[[Aside]]\nMe.\nBOB: Nay."
    )
    assert [piece.group for piece in pieces] == ["p.md:Act II:SCENE I. A hall.", "p.md:Act II:SCENE II."]


def test_glosses_are_numbered_where_there_are_several_and_synonyms_share_a_group() -> None:
    data = gzip.compress(b"brig\ta two-masted ship\nship\tA two-masted ship! | a vessel | a vessel\nempty\t\n")
    pieces = _read("gloss-lines-gz", data)
    assert [piece.text for piece in pieces] == ["brig: a two-masted ship", "ship: (1) A two-masted ship! (2) a vessel"]
    assert pieces[0].group == pieces[1].group == "a two masted ship"

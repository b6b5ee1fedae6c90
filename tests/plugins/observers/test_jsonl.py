"""The observer jsonl: one line a phase, readable whatever happened before."""

import json

from andrea_core.testing.worlds import make_sources
from andrea_plugins.observers import Jsonl

SOURCES = make_sources(("a", "b"))


def written(folder, *records):
    observer = Jsonl()
    handle = observer.open(str(folder), SOURCES)
    for record in records:
        observer.phase(handle, record)
    observer.close(handle)
    return [json.loads(line) for line in (folder / "phases.jsonl").read_text(encoding="utf-8").splitlines()]


def test_each_phase_is_one_line(tmp_path):
    records = [{"phase": k, "stage": "wärm", "weights": [0.25, 0.75], "notes": {"score": [1.5, 2.0]}} for k in range(3)]

    assert written(tmp_path, *records) == records


def test_a_phase_is_on_disk_before_the_next_one(tmp_path):
    observer = Jsonl()
    handle = observer.open(str(tmp_path), SOURCES)
    observer.phase(handle, {"phase": 0})
    text = (tmp_path / "phases.jsonl").read_text(encoding="utf-8")
    observer.close(handle)

    assert text == '{"phase": 0}\n'


def test_numbers_that_json_does_not_have_become_null(tmp_path):
    record = {"reward": [float("nan"), 1.0], "notes": {"score": (float("inf"), -float("inf"))}}

    assert written(tmp_path, record) == [{"reward": [None, 1.0], "notes": {"score": [None, None]}}]


def test_a_resumed_run_appends(tmp_path):
    written(tmp_path, {"phase": 0})

    assert written(tmp_path, {"phase": 1}) == [{"phase": 0}, {"phase": 1}]


def test_a_line_that_a_killed_run_left_unfinished_does_not_swallow_the_next(tmp_path):
    (tmp_path / "phases.jsonl").write_text('{"phase": 0}\n{"pha', encoding="utf-8")
    observer = Jsonl()
    handle = observer.open(str(tmp_path), SOURCES)
    observer.phase(handle, {"phase": 1})
    observer.close(handle)

    assert (tmp_path / "phases.jsonl").read_text(encoding="utf-8").splitlines()[-1] == '{"phase": 1}'


def test_another_file_name_may_be_given(tmp_path):
    observer = Jsonl(file="walk.jsonl")
    observer.close(observer.open(str(tmp_path), SOURCES))

    assert (tmp_path / "walk.jsonl").exists()

"""A simulation never destroys a record: it is written aside and put in place whole, or the place is refused."""

import json

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.cli import main
from andrea_core.errors import RunError
from andrea_core.simulator import recording
from andrea_core.simulator.place import new_record


def andrea(*arguments):
    with pytest.raises(SystemExit) as done:
        main([*map(str, arguments)])
    return done.value.code


@pytest.fixture
def simulated(little, tmp_path):
    """A simulated run, and a note of the user's in its folder."""
    out = tmp_path / "run"
    assert andrea("simulate", little, "--out", out) == 0
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    return out


def everything(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def break_off(monkeypatch, after):
    """Let a simulation fail when so many phases are done."""
    done = []

    def write(record, phase, _write=recording._write):
        done.append(phase)
        if len(done) > after:
            raise KeyboardInterrupt
        _write(record, phase)

    monkeypatch.setattr(recording, "_write", write)


@pytest.mark.parametrize("after", [0, 20])
def test_a_simulation_that_fails_leaves_the_old_record_as_it_was(simulated, little, monkeypatch, after):
    before = everything(simulated)
    break_off(monkeypatch, after)

    assert andrea("simulate", little, "--out", simulated) != 0
    assert everything(simulated) == before


def test_a_simulation_that_fails_leaves_no_folder(little, tmp_path, monkeypatch):
    break_off(monkeypatch, 0)

    assert andrea("simulate", little, "--out", tmp_path / "a" / "b" / "run") != 0
    assert not (tmp_path / "a").exists()


def test_the_same_simulation_takes_the_place_and_leaves_what_is_not_its_own(simulated, little):
    walk = open_run(simulated).phases["weights"]
    (simulated / "report.html").write_text("old", encoding="utf-8")

    assert andrea("simulate", little, "--out", simulated) == 0
    assert np.array_equal(open_run(simulated).phases["weights"], walk)
    assert (simulated / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert not (simulated / "report.html").exists()
    assert not list(simulated.glob(".*.partial"))


def test_a_swap_that_fails_half_way_is_undone(simulated, little):
    before = everything(simulated)
    facts = json.loads((simulated / "run.json").read_text(encoding="utf-8"))
    with pytest.raises(RunError, match="cannot write"), new_record(simulated, "text", facts):
        pass  # nothing was recorded that could be moved

    assert everything(simulated) == before


@pytest.mark.parametrize("options", [("--truth", "noise"), ("--seed", 9)])
def test_a_run_of_another_truth_or_scenario_is_not_overwritten(simulated, little, capsys, options):
    before = everything(simulated)
    capsys.readouterr()

    assert andrea("simulate", little, "--out", simulated, *options) == 2
    assert "holds a simulated run of another" in capsys.readouterr().err
    assert everything(simulated) == before


def test_a_trained_run_without_checkpoints_is_not_overwritten(simulated, little, capsys):
    facts = json.loads((simulated / "run.json").read_text(encoding="utf-8"))
    (simulated / "run.json").write_text(json.dumps({**facts, "device": "cpu"}), encoding="utf-8")
    before = everything(simulated)

    assert andrea("simulate", little, "--out", simulated) == 2
    assert "holds a trained run" in capsys.readouterr().err
    assert everything(simulated) == before


@pytest.mark.parametrize("command", ["resume", "export", "eval", "generate"])
def test_what_needs_a_model_says_that_the_run_is_simulated(simulated, capsys, command):
    assert andrea(command, simulated) == 2
    said = capsys.readouterr().err
    assert "is a simulated run, with no model and no checkpoints" in said
    assert "tokenizer" not in said

"""Reactive runs with a tiny model: what ends a stage is recorded, resumed, drawn, and foreseen before the start."""

import os
from pathlib import Path

import numpy as np
import pytest

from andrea_core import InfeasibleRegion, ScenarioError, open_run
from andrea_core.assembly import new_run, resumed_run
from andrea_core.cli.show import outlook
from andrea_core.plan import Plan
from andrea_core.progress import Progress
from andrea_core.report.page import write_report
from andrea_core.report.summary import bits_columns
from andrea_core.report.timeline import drawn_stages, planned_stages
from andrea_core.scenario import load

SCENARIOS = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[1])) / "scenarios"
PIVOT = """
extends = "tiny.toml"
phases = { use = "fixed", steps = 4 }
run = { steps = 40, checkpoint_every = 5, keep_checkpoints = 100 }
[curriculum]
use = "reactive"
[[curriculum.stages]]
name = "warmup"
at_least = 6
at_most = 20
sources = ["birds", "ships"]
plateau = { fall = 100.0, over = 2 }
[[curriculum.stages]]
name = "all"
at_least = 6
probe = { name = "text_health", measurement = "score", above = 0.0, looks = 2 }
[[curriculum.stages]]
name = "polish"
constraints = [{ use = "exclude", sources = ["clocks"] }, { use = "floors", floors = { birds = 0.6 } }]
"""
PROBES = """
[[probes]]
use = "heldout"
tokens = 64
at_start = true
at_stage_borders = true
at_end = true
[[probes]]
use = "text_health"
tokens = 20
every = 4
patience = 0
"""


@pytest.fixture
def scenario(tiny):
    """The tiny scenario under a reactive curriculum whose second stage waits for sampled text: (path)."""
    path = tiny.with_name("reactive.toml")
    path.write_text(PIVOT + PROBES, encoding="utf-8")
    return path


def trained(experiment, step=None):
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()


@pytest.fixture
def folder(scenario, tmp_path):
    out = tmp_path / "run"
    trained(new_run(load(scenario), out, Progress(), device="cpu", threads=1))
    return out


def test_each_stage_ends_at_the_phase_border_where_its_rule_held_and_the_record_says_why(folder):
    run = open_run(folder)
    stages = np.array(run.phases.decoded("stage"))
    starts = [int(run.phases["start"][stages == name][0]) for name in ("warmup", "all", "polish")]
    events = [text for kind, text in zip(run.events["kind"], run.events["text"], strict=True) if kind == "stage"]

    assert starts == [0, 8, 16]
    assert "; plateau: the loss fell by" in events[1]
    assert "; probe: text_health.score is" in events[2]
    assert (run.phases["weights"][stages == "polish", 0] >= 0.6).all()
    assert (run.phases["drawn"][stages == "polish", 1] == 0).all()


def test_probes_that_wait_for_borders_look_where_a_rule_ends_a_stage_and_only_once(folder):
    run = open_run(folder)

    assert run.evals["step"].tolist() == [0, 8, 16, 40]
    assert run.samples["step"].tolist() == list(range(4, 41, 4))


def test_figures_and_tables_show_the_stages_that_happened(folder):
    run = open_run(folder)

    assert [(s.name, s.start, s.until) for s in drawn_stages(run)] == [
        ("warmup", 0, 8),
        ("all", 8, 16),
        ("polish", 16, 40),
    ]
    assert list(bits_columns(run)) == ["start", "after warmup", "after all", "end"]
    assert "polish" in write_report(folder).read_text(encoding="utf-8")


def test_a_record_that_ends_early_shows_what_happened_and_what_is_still_foreseen(folder, monkeypatch):
    run = open_run(folder)
    kept = 3  # phases: two of warmup, one of all
    arrays = {name: run.phases[name][:kept] for name in ("start", "steps")}
    names = run.phases.decoded("stage")[:kept]
    monkeypatch.setattr("andrea_core.report.timeline.stage_names", lambda _run: names)
    monkeypatch.setattr(run, "__dict__", {**run.__dict__, "phases": Cut(arrays)})

    assert [(s.name, s.start, s.until) for s in planned_stages(run)] == [("warmup", 0, 8), ("all", 8, 40)]


class Cut(dict):
    """A phases table of a few arrays."""

    def has(self, *names):
        return all(name in self for name in names)


@pytest.mark.parametrize("cut", [5, 10, 15, 20, 30])
def test_a_resumed_run_pivots_at_the_same_steps_to_the_same_bits(folder, cut):
    before = open_run(folder)
    weights, losses = before.phases["weights"].tobytes(), before.steps["loss"].tobytes()
    bits, texts = before.evals["bits_per_byte"].tobytes(), list(before.events["text"])
    for one in (folder / "checkpoints").iterdir():
        if one.is_dir() and int(one.name.split("_")[1]) > cut:
            (one / "manifest.json").unlink()
    experiment, step = resumed_run(folder, Progress())
    assert step == cut
    trained(experiment, step)
    again = open_run(folder)

    assert again.phases["weights"].tobytes() == weights
    assert again.steps["loss"].tobytes() == losses
    assert again.evals["bits_per_byte"].tobytes() == bits
    assert list(again.events["text"]) == texts


def test_show_gives_the_earliest_and_the_latest_border_of_every_stage(scenario):
    loaded = load(scenario)
    lines = outlook(loaded, Plan.of(loaded))

    assert "stage warmup: begins at step 0, ends at step 6 to 20, about 2 to 5 decisions" in lines[1]
    assert "stage all: begins at step 6 to 20, ends at step 12 to 40, about 2 to 8 decisions" in "\n".join(lines)
    assert "stage polish: begins at step 12 to 40, if at all, ends at step 40, about 0 to 7 decisions" in "\n".join(
        lines
    )


def test_a_stage_without_possible_weights_is_found_before_the_start_however_late_it_may_come(scenario, tmp_path):
    text = scenario.read_text(encoding="utf-8").replace("birds = 0.6", "birds = 0.6, ships = 0.5")
    scenario.write_text(text, encoding="utf-8")
    with pytest.raises(InfeasibleRegion, match=r"stage 'polish' \(from step 12\) has no possible weights"):
        new_run(load(scenario), tmp_path / "run", Progress(), device="cpu", threads=1)


def test_a_stage_that_no_run_of_this_length_reaches_is_refused(scenario):
    loaded = load(scenario, settings=("run.steps=12",))
    with pytest.raises(
        ScenarioError, match="stage 'polish' begins at step 12 at the earliest, but the run ends at step"
    ):
        Plan.of(loaded)


def test_a_rule_that_waits_for_a_probe_that_is_not_there_is_refused_with_the_nearest_spelling(scenario):
    text = scenario.read_text(encoding="utf-8").replace('name = "text_health"', 'name = "text_helth"')
    scenario.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"waits for the probe 'text_helth'.*did you mean 'text_health'"):
        Plan.of(load(scenario))


def test_a_rule_that_names_an_unknown_source_is_refused(scenario):
    text = scenario.read_text(encoding="utf-8").replace("over = 2 }", 'over = 2, sources = ["brids"] }')
    scenario.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"brids.*did you mean 'birds'"):
        load(scenario)


@pytest.mark.parametrize("name", ["v4_reactive"])
def test_the_shipped_scenario_runs_through_its_three_stages(name, tiny, tmp_path):
    text = tmp_path / "text"
    sources = load(SCENARIOS / f"{name}.toml").scenario.sources
    lines = "\n".join(f"{one} = {{ use = \"text\", files = ['{text}/birds-*.txt'] }}" for one in sources)
    path = tmp_path / "small.toml"
    path.write_text(
        f"extends = '{SCENARIOS}/{name}.toml'\nname = 'small'\n[sources]\n{lines}\n[profiles.laptop]\nscale = 0.0005\n"
        "tokenizer = { use = 'bytes' }\nmodel = { preset = 'tiny' }\nphases = { low = 2, high = 4 }\n"
        "probes = [{ use = 'text_health', tokens = 20, every = 5, patience = 0 }]\n",
        encoding="utf-8",
    )
    trained(new_run(load(path), tmp_path / "run", Progress(), device="cpu", threads=1))
    run = open_run(tmp_path / "run")

    assert run.steps.rows == 100
    assert list(dict.fromkeys(run.phases.decoded("stage"))) == ["warmup", "firehose", "polish"]

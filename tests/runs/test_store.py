"""Opening a run gives what was recorded, as far as it came, and refuses what is no run with one clear message."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import zarr

from andrea_core import RunError, open_run

_EMPTY = ["Notes(nothing)", "Probes(nothing)"]


@pytest.fixture(scope="module")
def synthetic() -> ModuleType:
    path = Path(__file__).parents[1] / "report" / "synthetic.py"
    spec = importlib.util.spec_from_file_location("synthetic_for_store", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = synthetic.write_run(tmp_path_factory.mktemp("runs") / "v3_polish-1a2b", steps=300)
    return path


def test_the_folder_and_the_store_in_it_open_the_same_run(folder: Path) -> None:
    for path in (folder, folder / "run.zarr", str(folder)):
        run = open_run(path)
        assert (run.folder, run.name, len(run.sources)) == (folder, "v3_polish", 16)


def test_arrays_have_a_row_a_record_and_a_column_a_source(folder: Path) -> None:
    run = open_run(folder)
    assert run.steps["loss"].shape == (300,)
    assert run.steps["loss"].dtype == np.float32
    assert run.phases["weights"].shape == (run.phases.rows, 16)
    assert run.phases["steps"].sum() == 300
    assert run.notes["score"].shape == run.phases["weights"].shape
    assert run.evals["bits_per_byte"].shape == (run.evals.rows, 16)
    assert list(run.probes) == ["sharpness"]
    assert run.samples["text"][1] == "<script>alert('x')</script> & then"
    assert 'name = "v3_polish"' in run.scenario


def test_facts_of_the_machine_come_from_their_file_and_may_be_gone(tmp_path: Path, synthetic: ModuleType) -> None:
    path = tmp_path / "run"
    synthetic.empty_run(path, ["a"])
    assert open_run(path).facts["device"] == "cpu"
    (path / "run.json").write_text('{"device": "c', encoding="utf-8")
    assert open_run(path).facts == {}
    (path / "run.json").unlink()
    assert open_run(path).facts == {}


def test_frames_decode_names_and_index_steps(folder: Path) -> None:
    run = open_run(folder)
    phases = run.frame("phases")
    assert set(phases["stage"]) == {"warmup", "firehose", "polish"}
    assert set(phases["policy"]) == {"random", "ucb1"}
    assert (phases["until"] == phases["start"] + phases["steps"]).all()
    assert phases["seconds_model"].to_numpy() == pytest.approx(run.phases["seconds"][:, 1])
    steps = run.frame("steps")
    assert (steps.index[0], steps.index[-1], steps.index.name) == (1, 300, "step")


def test_weights_are_a_frame_of_phases_by_sources(folder: Path) -> None:
    run = open_run(folder)
    assert list(run.weights.columns) == run.sources
    assert list(run.weights.index) == run.phases["start"].tolist()
    assert run.weights["chat"].to_numpy() == pytest.approx(run.phases["weights"][:, 3])
    assert run.frame("drawn").to_numpy().sum() == run.phases["drawn"].sum()


def test_held_out_losses_are_a_tidy_frame(folder: Path) -> None:
    run = open_run(folder)
    tidy = run.frame("evals")
    assert list(tidy.columns) == ["step", "source", "bits_per_byte"]
    assert len(tidy) == run.evals.rows * 16
    last = tidy[(tidy["step"] == 300) & (tidy["source"] == "oasst")]["bits_per_byte"].item()
    assert last == run.evals["bits_per_byte"][-1, 5]


def test_samples_events_notes_and_probes_are_frames_too(folder: Path) -> None:
    run = open_run(folder)
    assert run.frame("samples")["score"].iloc[0] == 8.0
    assert run.frame("events")["kind"].tolist() == ["start", "cap"]
    assert run.frame("notes/score").shape == (run.phases.rows, 16)
    assert "by_source_chat" in run.frame("probes/sharpness").columns


def test_tables_and_mappings_print_names_rows_and_shapes_and_no_contents(folder: Path) -> None:
    run = open_run(folder)
    rows = run.phases.rows
    assert repr(run.steps) == "Table(300 rows: grad_norm (300,), loss (300,), lr (300,), tokens (300,))"
    assert f"weights ({rows}, 16)" in repr(run.phases)
    assert repr(run.notes) == f"Notes(score ({rows}, 16), vertex ({rows}, 16))"
    assert repr(run.probes).startswith("Probes(sharpness Table(")
    for shown in (run.steps, run.phases, run.notes, run.probes, run.evals, run.samples, run.events):
        assert len(repr(shown)) < 600
        assert "object at" not in repr(shown)
        assert str(shown) == repr(shown)


def test_printing_a_table_reads_no_array(folder: Path) -> None:
    steps = open_run(folder).steps
    assert repr(steps)
    assert steps._cache == {}


def test_an_unknown_note_or_probe_names_what_there_is(folder: Path) -> None:
    with pytest.raises(KeyError, match="'logit' was not recorded; there is score, vertex"):
        open_run(folder).notes["logit"]
    with pytest.raises(KeyError, match="'heat' was not recorded; there is sharpness"):
        open_run(folder).probes["heat"]


def test_step_counts_finished_steps_in_every_frame_as_documented(folder: Path) -> None:
    run = open_run(folder)
    phases, steps, evals = run.frame("phases"), run.frame("steps"), run.frame("evals")
    for phase in (phases.iloc[0], phases.iloc[3]):
        part = steps.loc[phase["start"] + 1 : phase["until"]]
        assert len(part) == phase["steps"]
        inside = run.steps["loss"][phase["start"] : phase["start"] + phase["steps"]]
        assert part["loss"].to_numpy() == pytest.approx(inside)
    assert (run.weights.index == phases["start"]).all()
    assert (evals["step"].iloc[0], evals["step"].iloc[-1]) == (0, phases["until"].iloc[-1])


def test_an_unknown_frame_or_array_names_what_there_is(folder: Path) -> None:
    run = open_run(folder)
    with pytest.raises(RunError, match=r"no frame 'weigths'; there is steps, phases, .*weights"):
        run.frame("weigths")
    with pytest.raises(KeyError, match="'los' was not recorded; there is grad_norm, loss, lr, tokens"):
        run.steps["los"]


def test_a_run_killed_before_its_first_step_has_no_rows_anywhere(tmp_path: Path, synthetic: ModuleType) -> None:
    synthetic.empty_run(tmp_path / "run", ["a", "b"])
    run = open_run(tmp_path / "run")
    assert (run.steps.rows, run.phases.rows, run.evals.rows, run.samples.rows, run.events.rows) == (0, 0, 0, 0, 0)
    assert run.phases["weights"].shape == (0, 2)
    assert run.steps["loss"].shape == (0,)
    assert (dict(run.notes), dict(run.probes)) == ({}, {})
    assert [repr(part) for part in (run.steps, run.notes, run.probes)] == ["Table(0 rows)", *_EMPTY]
    assert run.weights.shape == (0, 2)
    assert [len(run.frame(name)) for name in ("steps", "phases", "evals", "samples", "events")] == [0] * 5


def test_arrays_of_unequal_length_are_cut_to_the_shortest(tmp_path: Path, synthetic: ModuleType) -> None:
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"])
    rows = {"loss": np.ones(9, np.float32), "lr": np.ones(7), "tokens": np.ones(9, np.int64), "grad_norm": np.ones(0)}
    synthetic.put(store.create_group("steps"), rows)
    steps = open_run(tmp_path / "run").steps
    assert (steps.rows, len(steps["loss"]), len(steps["lr"])) == (7, 7, 7)
    assert "grad_norm" not in steps
    assert len(steps["grad_norm"]) == 0


def test_rows_that_were_made_but_never_filled_are_no_records(tmp_path: Path, synthetic: ModuleType) -> None:
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"])
    weights = np.full((5, 2), 0.5)
    weights[4] = np.nan
    counts = np.array([[8, 8], [0, 16], [8, 8], [16, 0], [8, 8]])
    rows = {"start": np.arange(5) * 7, "steps": np.full(5, 7), "weights": weights, "drawn": counts}
    synthetic.put(store.create_group("phases"), rows)
    synthetic.put(store.create_group("steps"), {"loss": np.array([np.nan, 2.0, np.nan]), "tokens": np.array([9, 9, 9])})
    run = open_run(tmp_path / "run")
    assert run.phases.rows == 4
    assert run.steps.rows == 3  # a loss may be NaN in earnest


def test_notes_always_have_a_row_a_phase(tmp_path: Path, synthetic: ModuleType) -> None:
    store = synthetic.empty_run(tmp_path / "run", ["a", "b"])
    phases = store.create_group("phases")
    synthetic.put(phases, {"start": np.arange(4), "steps": np.ones(4, int)})
    synthetic.put(phases.create_group("notes"), {"score": np.ones((2, 2))})
    score = open_run(tmp_path / "run").notes["score"]
    assert score.shape == (4, 2)
    assert np.isnan(score[2:]).all()


@pytest.mark.parametrize("make", ["nothing", "folder", "file", "store without sources", "torn store", "array"])
def test_what_is_no_run_is_refused_with_a_remedy(make: str, tmp_path: Path) -> None:
    path = tmp_path / "thing"
    if make == "file":
        path.write_text("text", encoding="utf-8")
    elif make != "nothing":
        path.mkdir()
    if make == "store without sources":
        zarr.open_group(path / "run.zarr", mode="w")
    if make == "torn store":
        (path / "run.zarr").mkdir()
        (path / "run.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node', encoding="utf-8")
    if make == "array":
        zarr.create_array(path / "run.zarr", shape=(2,), dtype="f8")
    with pytest.raises(RunError, match="Name the folder that `andrea run` printed") as caught:
        open_run(path)
    assert str(path) in str(caught.value)


def test_opening_a_run_imports_neither_pandas_nor_torch(folder: Path) -> None:
    opened = f"import sys, andrea_core; andrea_core.open_run({str(folder)!r}).phases"
    code = opened + "; print({'pandas', 'torch'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"

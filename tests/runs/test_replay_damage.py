"""A damaged record is refused with the array's name before anything is replayed, or its verdict is honest."""

import json
import shutil

import numpy as np
import pytest
import zarr

from andrea_core.cli import main
from andrea_core.errors import AndreaError, RunError
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.replay.asked import own_scenario
from andrea_core.runs.replay.verdict import ORDER
from andrea_core.runs.store import open_run


def verdict(folder):
    recorded = Recorded.of(open_run(folder))
    return recorded, verdict_of(recorded, replayed(own_scenario(folder), recorded, own=True))


def rewrite(folder, path, change):
    """Put another array in the place of one of the record's, with its attributes."""
    old = zarr.open_array(folder / "run.zarr" / path, mode="r")
    values, attributes = np.asarray(old[:]), old.attrs.asdict()
    shutil.rmtree(folder / "run.zarr" / path)
    new = zarr.open_group(folder / "run.zarr", mode="a").create_array(path, data=np.ascontiguousarray(change(values)))
    new.attrs.update(attributes)


@pytest.mark.parametrize(
    "path", ["phases/loss", "phases/reward", "phases/lower", "phases/epochs", "phases/owed", "steps/row_loss"]
)
def test_a_missing_array_is_named(run, path):
    shutil.rmtree(run / "run.zarr" / path)

    with pytest.raises(RunError, match=f"damaged: {path} is missing; restore the folder"):
        verdict(run)


@pytest.mark.parametrize("path", ["phases/reward", "phases/seconds", "steps/row_loss", "steps/lr"])
def test_a_short_array_of_a_finished_run_is_named(run, path):
    rewrite(run, path, lambda values: values[:-1])

    with pytest.raises(RunError, match=rf"damaged: {path} is \d+ rows long where others"):
        verdict(run)


def test_a_run_that_was_killed_is_replayed_as_far_as_all_arrays_reach_and_says_so(run, capsys):
    attributes = run / "run.zarr" / "zarr.json"
    described = json.loads(attributes.read_text(encoding="utf-8"))
    described["attributes"]["total_steps"] = 10**6
    attributes.write_text(json.dumps(described), encoding="utf-8")
    rewrite(run, "phases/reward", lambda values: values[:-1])
    with pytest.raises(SystemExit):
        main(["replay", str(run)])
    said = capsys.readouterr()

    assert "phases/reward is" in said.err
    assert "reproduced: the first" in said.out
    assert "reproduced: all" not in said.out


@pytest.mark.parametrize(
    ("path", "change", "words"),
    [
        ("phases/weights", lambda values: values[:, :-1], "of rows shaped"),
        ("phases/loss", lambda values: values.astype(np.float32), "of the type float32"),
        ("phases/drawn", lambda values: values.astype(np.float64), "of the type float64"),
        ("steps/row_source", lambda values: np.where(values == 1, -1, values), "-1 in row"),
        ("steps/row_source", lambda values: values + 1, "no source's number"),
        ("phases/owed", lambda values: values * np.nan, "nan in row 0"),
        ("phases/steps", lambda values: values + 1, "at odds with phases/steps"),
        ("steps/tokens", lambda values: values.astype(np.float64), "of the type float64"),
    ],
)
def test_what_is_wrong_with_an_array_is_said(run, path, change, words):
    rewrite(run, path, change)

    with pytest.raises(RunError, match=words):
        verdict(run)


def test_measurements_without_their_steps_are_named(run):
    assert open_run(run).evals.rows
    shutil.rmtree(run / "run.zarr" / "eval" / "step")

    with pytest.raises(RunError, match="damaged: eval/step is missing"):
        verdict(run)


@pytest.mark.parametrize("value", [None, "x", -1, [1], {"a": 1}])
@pytest.mark.parametrize("name", ["context", "rows", "epoch_tokens", "sources", "cpus", "total_steps"])
def test_a_wrong_attribute_is_refused_or_changes_nothing(run, name, value):
    described = json.loads((run / "run.zarr" / "zarr.json").read_text(encoding="utf-8"))
    described["attributes"][name] = value
    (run / "run.zarr" / "zarr.json").write_text(json.dumps(described), encoding="utf-8")

    if name in ("cpus", "total_steps"):
        assert verdict(run)[1].first is None
    else:
        with pytest.raises(RunError, match=name):
            verdict(run)


def damage(folder, rng):
    """Damage one array, at random: drop it, shorten it, narrow it, change its type, or drop its attributes."""
    store = folder / "run.zarr"
    arrays = sorted(
        str(path.parent.relative_to(store))
        for path in store.rglob("zarr.json")
        if json.loads(path.read_text(encoding="utf-8"))["node_type"] == "array"
    )
    path = arrays[rng.integers(len(arrays))]
    how = rng.integers(5)
    if how == 0:
        shutil.rmtree(store / path)
    elif how == 1:
        rewrite(folder, path, lambda values: values[: rng.integers(len(values))])
    elif how == 2:
        rewrite(folder, path, lambda values: values[:, :-1] if values.ndim > 1 else values[:, None])
    elif how == 3:
        other = [np.int8, np.float32, np.float64, np.bool_][rng.integers(4)]
        rewrite(folder, path, lambda values: values if values.dtype.kind in "OTU" else values.astype(other))
    else:
        zarr.open_array(store / path, mode="a").attrs.clear()
    return f"{path}, {how}"


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_refused_or_the_verdict_is_honest(run, tmp_path, seed):
    whole = {name: open_run(run).phases[name].copy() for name in ORDER}
    what = damage(run, np.random.default_rng(seed))
    try:
        recorded, found = verdict(run)
    except AndreaError:
        return
    assert len(recorded) == len(whole["weights"]) or recorded.shorter, what
    if found.first is None:
        for name, values in whole.items():
            assert np.array_equal(recorded.phases[name], values[: len(recorded)], equal_nan=True), (what, name)

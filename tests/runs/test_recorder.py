"""The recorder: what is read equals what was written, whatever was cut off and recorded again."""

import shutil
import warnings

import numpy as np
import pytest
import zarr
from hypothesis import given, settings, strategies as st

from andrea_core.errors import RunError
from andrea_core.runs import recorder as module
from andrea_core.runs.recorder import Recorder
from andrea_core.runs.tree import flatten, restore


def feed(recorder, start, stop):
    """Rows that say who they are; notes appear late and with gaps."""
    for i in range(start, stop):
        recorder["steps"].append({"loss": np.float32(i), "tokens": np.int64(i)})
        recorder["phases/notes"].append({"score": np.array([i, 1.0])} if i >= 20 and i % 3 else {})
        recorder["phases"].append(
            {"weights": np.full(3, i / 7), "stage": recorder.code("phases", "stage", f"s{i // 9}")}
        )
        if i % 5 == 0:
            recorder["samples"].append({"text": f"text {i} é\n", "step": np.int64(i)})
        recorder.tick()


def contents(path):
    group = zarr.open_group(path, mode="r")
    return {name: np.asarray(a[:]).tolist() for name, a in group.members(max_depth=None) if isinstance(a, zarr.Array)}


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def saved(recorder):
    arrays = {}
    return flatten(recorder.state(), "r", arrays), arrays


@settings(max_examples=15)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 30))
def test_kill_and_resume_at_any_point_gives_the_uninterrupted_record(tmp_path_factory, cuts, lost):
    folder = tmp_path_factory.mktemp("record")
    old, module.CHUNK = module.CHUNK, 16
    try:
        end = sum(cuts) + 5
        straight = Recorder(folder / "straight.zarr", {"sources": ["a"]})
        feed(straight, 0, end)
        straight.flush()
        at, state = 0, None
        for cut in cuts:
            recorder = Recorder(folder / "cut.zarr", {"sources": ["a"]})
            if state is not None:
                recorder.restore(restore(*state, {}))
            feed(recorder, at, at + cut)
            recorder.flush()
            at += cut
            state = saved(recorder)
            feed(recorder, at, at + lost)  # written after the checkpoint, then the process dies
        final = Recorder(folder / "cut.zarr", {"sources": ["a"]})
        final.restore(restore(*state, {}))
        feed(final, at, end)
        final.flush()
    finally:
        module.CHUNK = old

    same(contents(folder / "straight.zarr"), contents(folder / "cut.zarr"))
    names = zarr.open_group(folder / "cut.zarr")["phases/stage"].attrs["names"]
    assert names == zarr.open_group(folder / "straight.zarr")["phases/stage"].attrs["names"]


def test_only_whole_chunks_are_written_before_a_flush(tmp_path):
    recorder = Recorder(tmp_path / "r.zarr", {})
    feed(recorder, 0, module.CHUNK - 1)

    assert "steps" not in zarr.open_group(tmp_path / "r.zarr")
    feed(recorder, module.CHUNK - 1, module.CHUNK)
    assert zarr.open_group(tmp_path / "r.zarr")["steps/loss"].shape == (module.CHUNK,)


def test_a_column_that_appears_late_is_blank_before(tmp_path):
    recorder = Recorder(tmp_path / "r.zarr", {})
    feed(recorder, 0, 25)
    recorder.flush()
    score = zarr.open_group(tmp_path / "r.zarr")["phases/notes/score"][:]

    assert score.shape == (25, 2)
    assert np.isnan(score[:20]).all()
    assert score[20].tolist() == [20, 1]


def two_chunks(path):
    recorder = Recorder(path, {"sources": ["a"]})
    feed(recorder, 0, 700)
    recorder.flush()
    return recorder, saved(recorder)


def restored(path, state):
    recorder = Recorder(path, {"sources": ["a"]})
    recorder.restore(restore(*state, {}))
    return recorder


@pytest.mark.parametrize(
    "array", ["steps/loss", "steps/tokens", "phases/weights", "phases/stage", "phases/notes/score"]
)
def test_a_full_chunk_that_is_gone_is_noticed_and_nothing_is_changed(tmp_path, array):
    _, state = two_chunks(tmp_path / "r.zarr")
    shutil.rmtree(tmp_path / f"r.zarr/{array}/c/0", ignore_errors=True)
    (tmp_path / f"r.zarr/{array}/c/0").unlink(missing_ok=True)
    before = contents(tmp_path / "r.zarr")

    with pytest.raises(RunError, match=f"{array}, rows 0 to 511: the record is damaged"):
        restored(tmp_path / "r.zarr", state)
    same(before, contents(tmp_path / "r.zarr"))


def test_a_record_that_is_gone_is_noticed(tmp_path):
    _, state = two_chunks(tmp_path / "r.zarr")
    shutil.rmtree(tmp_path / "r.zarr")

    with pytest.raises(RunError, match=r"r\.zarr/steps/loss: this part of the record is missing"):
        restored(tmp_path / "r.zarr", state)


def test_digests_go_on_over_a_restart_and_texts_have_theirs(tmp_path):
    _, state = two_chunks(tmp_path / "r.zarr")
    recorder = restored(tmp_path / "r.zarr", state)
    feed(recorder, 700, 2600)  # the texts' first chunk is full now
    recorder.flush()
    later = saved(recorder)
    restored(tmp_path / "r.zarr", later)
    zarr.open_group(tmp_path / "r.zarr")["samples/text"][3] = "another text"

    assert [len(digests) for name, digests in sorted(later[1].items()) if "digests" in name] == [5, 5, 5, 1, 1, 5, 5]
    with pytest.raises(RunError, match="samples/text, rows 0 to 511"):
        restored(tmp_path / "r.zarr", later)


def test_blank_rows_of_a_late_column_and_odd_nans_are_not_taken_for_damage(tmp_path):
    recorder = Recorder(tmp_path / "r.zarr", {})
    odd = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    for i in range(1100):
        recorder["steps"].append({"loss": odd[i % 2], **({"late": np.int64(0)} if i > 600 else {})})
        recorder.tick()
    recorder.flush()

    assert len(restored(tmp_path / "r.zarr", saved(recorder))["steps"]) == 1100


@pytest.mark.parametrize("whole", [False, True])
def test_many_rows_at_a_time_are_recorded_as_one_by_one(tmp_path, whole):
    """Blocks of every size, a column that appears late, and a record that is written in one go."""
    one, other = Recorder(tmp_path / "one", {}), Recorder(tmp_path / "other", {}, whole=whole)
    loss, late = np.arange(700, dtype=np.float32), np.arange(700, dtype=np.int64)
    for start, stop in ((0, 5), (5, 600), (600, 601), (601, 700)):
        columns = {"loss": loss[start:stop]} | ({"late": late[start:stop]} if start >= 600 else {})
        other["steps"].extend(columns)
        for i in range(stop - start):
            one["steps"].append({name: values[i] for name, values in columns.items()})
        one.tick()
        other.tick()
    one.flush()
    other.flush()
    found = contents(tmp_path / "other")

    assert found["steps/loss"] == loss.tolist()
    same(contents(tmp_path / "one"), found)


def test_a_table_that_was_only_begun_when_the_process_was_killed_is_no_damage(tmp_path):
    path = tmp_path / "cut.zarr"
    recorder = Recorder(path, {"sources": ["a"]})
    recorder["steps"].append({"loss": np.float32(1)})
    state = saved(recorder)
    for begun in ("phases", "steps/tokens"):  # zarr's own order: the folder, a file aside, then the description
        (path / begun / "c").mkdir(parents=True)
        (path / begun / "zarr.0123abcd.partial").write_bytes(b"{")
    again = Recorder(path, {"sources": ["a"]})
    again.restore(restore(*state, {}))
    feed(again, 1, 4)
    again.flush()

    assert len(contents(path)["steps/loss"]) == 4
    assert len(contents(path)["phases/weights"]) == 3


def test_a_group_that_has_lost_its_description_but_holds_rows_is_still_damage(tmp_path):
    path = tmp_path / "lost.zarr"
    recorder = Recorder(path, {"sources": ["a"]})
    feed(recorder, 0, 3)
    state = saved(recorder)
    (path / "phases" / "zarr.json").unlink()
    again = Recorder(path, {"sources": ["a"]})

    with pytest.raises(RunError, match="damaged"):
        again.restore(restore(*state, {}))
    assert (path / "phases" / "weights" / "zarr.json").exists()


@pytest.mark.parametrize("place", ["", "steps", "steps/loss"])
def test_what_a_killed_process_wrote_aside_is_swept_away(tmp_path, place):
    path = tmp_path / "cut.zarr"
    recorder = Recorder(path, {"sources": ["a"]})
    feed(recorder, 0, 3)
    recorder.flush()
    state = saved(recorder)
    aside = path / place / "zarr.0123abcd.partial"
    aside.write_bytes(b"{")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Recorder(path, {"sources": ["a"]}).restore(restore(*state, {}))

    assert not aside.exists()
    assert len(contents(path)["steps/loss"]) == 3

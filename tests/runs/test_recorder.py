"""The recorder: what is read equals what was written, whatever was cut off and recorded again."""

import numpy as np
import zarr
from hypothesis import given, settings, strategies as st

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

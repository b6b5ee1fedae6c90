"""Large rows: chunks on disk stay small, and a recorder that is cut back writes the same."""

import numpy as np
import zarr

from andrea_core.runs import recorder as module, rows
from andrea_core.runs.recorder import Recorder


def feed(recorder, start, stop):
    for i in range(start, stop):
        recorder["probes/maps"].append({"step": np.int64(i), "map": np.full((4, 8), float(i))})
        recorder.tick()


def contents(path):
    return np.asarray(zarr.open_group(path, mode="r")["probes/maps/map"][:])


def test_a_chunk_of_large_rows_is_a_part_of_the_tables_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 8)
    monkeypatch.setattr(rows, "CHUNK_BYTES", 600)
    recorder = Recorder(tmp_path / "a", {})
    feed(recorder, 0, 21)
    recorder.flush()
    group = zarr.open_group(tmp_path / "a", mode="r")

    assert group["probes/maps/map"].chunks == (2, 4, 8)  # 256 bytes a row
    assert group["probes/maps/step"].chunks == (8,)
    np.testing.assert_array_equal(contents(tmp_path / "a")[:, 0, 0], np.arange(21))


def test_a_record_of_large_rows_goes_on_from_any_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 8)
    monkeypatch.setattr(rows, "CHUNK_BYTES", 600)
    recorder = Recorder(tmp_path / "a", {})
    feed(recorder, 0, 13)
    recorder.flush()
    state = recorder.state()
    feed(recorder, 13, 19)
    recorder.flush()
    later = Recorder(tmp_path / "a", {})
    later.restore(state)
    feed(later, 13, 30)
    later.flush()

    np.testing.assert_array_equal(contents(tmp_path / "a")[:, 3, 7], np.arange(30))

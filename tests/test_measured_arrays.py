"""Arrays that probes measure: small ones of a fixed shape are recorded, all others are refused by name."""

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.assembly import new_run
from andrea_core.errors import PluginError
from andrea_core.progress import Progress
from andrea_core.scenario import load

PROBE = '''
import attrs
import numpy as np
from andrea_core import Measurement, hookimpl

@attrs.frozen
class Mine:
    """A probe of arrays."""
    needs = frozenset()
    def start(self, sources): return 0
    def measure(self, state, view, rng): return {"a": VALUE}, state + 1

@hookimpl
def andrea_probes(): return {"mine": Mine}
'''


def run(tiny, tmp_path, value):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PROBE.replace("VALUE", value))
    looks = 'probes=[{use="mine", at_start=true, at_end=true}]'
    made = load(tiny, plugins=[str(plugin)], settings=[looks, "run.steps=12"])
    experiment = new_run(made, tmp_path / "run", Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    return open_run(tmp_path / "run")


ARRAYS = {
    "more axes than names": "Measurement(np.zeros((2, 3)), axes=('a',))",
    "too many numbers": "Measurement(np.zeros((2**8 + 1, 2**8)), axes=('a', 'b'))",
    "no numbers": "Measurement(np.zeros((0, 3)), axes=('a', 'b'))",
    "texts": "Measurement(np.array([['x']]), axes=('a', 'b'))",
    "an array without axes": "Measurement(np.zeros((2, 3)))",
}


@pytest.mark.parametrize("case", ARRAYS)
def test_an_array_that_the_record_cannot_keep_is_refused(tiny, tmp_path, case):
    with pytest.raises(PluginError, match=r"probe 'mine'.*returned measurement"):
        run(tiny, tmp_path, ARRAYS[case])


def test_an_array_whose_shape_changes_is_refused(tiny, tmp_path):
    with pytest.raises(
        PluginError, match=r"probe 'mine' returned \(3, 2\) numbers as measurement 'a', before \(2, 2\)"
    ):
        run(tiny, tmp_path, "Measurement(np.ones((2 + state, 2)), axes=('a', 'b'))")


def test_a_small_array_is_recorded_as_it_is_and_spread_over_columns_of_the_frame(tiny, tmp_path):
    read = run(tiny, tmp_path, "Measurement(np.arange(24.0).reshape(2, 3, 4) + state, axes=('a', 'b', 'c'))")

    np.testing.assert_array_equal(
        read.probes["mine"]["a"], np.arange(24.0).reshape(2, 3, 4) + np.arange(2.0)[:, None, None, None]
    )
    assert list(read.frame("probes/mine")["a_2.3.4"]) == [23, 24]


def test_a_large_array_stays_out_of_the_frame(tiny, tmp_path):
    read = run(tiny, tmp_path, "Measurement(np.zeros((40, 40)), axes=('a', 'b'))")

    assert list(read.frame("probes/mine")) == ["step"]

"""State trees: what goes into a checkpoint comes back bit for bit, and what cannot is refused by place."""

import json
import re

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.errors import PluginError
from andrea_core.runs.tree import flatten, restore


@attrs.frozen(eq=False)
class Leaf:
    value: np.ndarray
    note: str | None = None


@attrs.frozen(eq=False)
class Branch:
    leaves: tuple[Leaf, ...]
    numbers: dict[str, float]


def round_trip(tree, template):
    arrays = {}
    data = flatten(tree, "t", arrays)
    return restore(json.loads(json.dumps(data)), arrays, template)


plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())


@given(st.recursive(plain, lambda inner: st.one_of(st.tuples(inner, inner), st.dictionaries(st.text(), inner))))
def test_plain_trees_come_back(tree):
    assert repr(round_trip(tree, None)) == repr(tree)


@given(st.lists(st.floats(), max_size=5), st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
def test_arrays_and_numpy_scalars_keep_bits_kind_and_shape(values, dtype):
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        array = np.nan_to_num(np.array(values)).clip(-1e9, 1e9).astype(dtype)
    back = round_trip({"a": array, "zero": np.array(7.0), "one": dtype(1)}, {})

    assert back["a"].tobytes() == array.tobytes()
    assert (back["a"].dtype, back["a"].shape) == (array.dtype, array.shape)
    assert back["zero"].shape == ()
    assert type(back["one"]) is dtype


def test_classes_are_found_through_the_start_states_annotations():
    tree = Branch((Leaf(np.arange(3)), Leaf(np.zeros((2, 2)), "x")), {"a": 1.5})
    back = round_trip(tree, Branch((), {}))

    assert [leaf.note for leaf in back.leaves] == [None, "x"]
    assert back.leaves[1].value.shape == (2, 2)
    assert back.numbers == {"a": 1.5}


@pytest.mark.parametrize("bad", [[1], {1: 2}, {1, 2}, object(), b"x"])
def test_what_no_checkpoint_can_keep_is_refused_with_its_place(bad):
    with pytest.raises(PluginError, match=re.escape("state.inner.1 holds a")):
        flatten({"inner": (0, bad)}, "state", {})

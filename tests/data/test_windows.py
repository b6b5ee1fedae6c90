"""Held-out windows: the packed stream, evenly spaced, at every size."""

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from andrea_core.data.windows import spaced_windows

SEPARATOR = 256
LENGTHS = st.lists(st.integers(0, 12), min_size=1, max_size=8)


def packed(lengths: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return document tokens, their offsets, and the stream with separators written out."""
    tokens = np.arange(sum(lengths), dtype=np.uint16)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    pieces = [np.r_[SEPARATOR, tokens[a:b]] for a, b in pairwise(offsets)]
    return tokens, offsets, np.concatenate(pieces)


@given(lengths=LENGTHS, context=st.integers(1, 10), max_tokens=st.integers(1, 60))
def test_windows_are_disjoint_stretches_of_the_packed_stream(lengths: list[int], context: int, max_tokens: int) -> None:
    tokens, offsets, stream = packed(lengths)
    windows = spaced_windows(tokens, offsets, separator=SEPARATOR, context=context, max_tokens=max_tokens)
    at = 0
    for window in windows:
        # The first stretch, after all those taken before, that reads like the window.
        places = [p for p in range(at, len(stream)) if np.array_equal(stream[p : p + len(window)], window)]
        assert places
        at = places[0] + len(window) - 1


@given(lengths=LENGTHS, context=st.integers(1, 10), max_tokens=st.integers(1, 60))
def test_as_many_windows_as_fit_are_taken(lengths: list[int], context: int, max_tokens: int) -> None:
    tokens, offsets, stream = packed(lengths)
    windows = spaced_windows(tokens, offsets, separator=SEPARATOR, context=context, max_tokens=max_tokens)
    whole = (len(stream) - 1) // context

    if not len(tokens):
        assert windows.shape == (0, context + 1)
    elif whole == 0:
        assert windows.shape == (1, len(stream))
    else:
        assert windows.shape == (min(whole, max(1, max_tokens // context)), context + 1)


def test_windows_reach_from_the_first_document_to_the_last_token() -> None:
    tokens, offsets, stream = packed([40, 60, 80])
    windows = spaced_windows(tokens, offsets, separator=SEPARATOR, context=10, max_tokens=40)

    np.testing.assert_array_equal(windows[0], stream[:11])
    np.testing.assert_array_equal(windows[-1], stream[-11:])
    assert windows.dtype == np.int64

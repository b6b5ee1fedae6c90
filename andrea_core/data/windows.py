"""Windows of a source's text, each document behind a separator: evenly spaced, always the same ones, or drawn."""

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from andrea_core.values import Integers


def spaced_windows(
    tokens: npt.NDArray[np.integer], offsets: Integers, *, separator: int, context: int, max_tokens: int
) -> Integers:
    """Return windows (n, context + 1) of the stream of documents, so that at most `max_tokens` tokens are predicted.

    `tokens` holds the documents end to end, document d at [offsets[d], offsets[d + 1]). The windows predict disjoint
    stretches of `context` tokens, spread evenly from the start of the stream to its end; at least one is returned. A
    stream that is too short for a whole window gives one shorter window; without any token n is 0.
    """
    length = len(tokens) + len(offsets) - 1
    if len(tokens) == 0:
        return np.empty((0, context + 1), np.int64)
    context = min(context, length - 1)
    count = min((length - 1) // context, max(1, max_tokens // context))
    starts = np.arange(count) * (length - 1 - context) // max(1, count - 1)
    return _at(tokens, offsets, separator, starts[:, None] + np.arange(context + 1))


def drawn_windows(
    tokens: npt.NDArray[np.integer], offsets: Integers, *, separator: int, context: int, count: int, rng: Generator
) -> Integers:
    """Return `count` windows (count, context + 1) that begin anywhere in the stream of documents; they may overlap.

    The stream is that of `spaced_windows`, and a short one gives one shorter window too; without any token, or with a
    `count` of 0, there are none.
    """
    length = len(tokens) + len(offsets) - 1
    if len(tokens) == 0 or count == 0:
        return np.empty((0, context + 1), np.int64)
    context = min(context, length - 1)
    places = length - context
    starts = rng.integers(places, size=count) if places > 1 else np.zeros(1, np.int64)
    return _at(tokens, offsets, separator, starts[:, None] + np.arange(context + 1))


def _at(tokens: npt.NDArray[np.integer], offsets: Integers, separator: int, positions: Integers) -> Integers:
    # Document d and its separator cover the stream's positions from heads[d], where the separator stands.
    documents = len(offsets) - 1
    heads = np.asarray(offsets[:-1], np.int64) + np.arange(documents)
    document = np.searchsorted(heads, positions, side="right") - 1
    is_text = positions > heads[document]
    found = np.full(positions.shape, separator, np.int64)
    found[is_text] = tokens[(positions - document - 1)[is_text]]
    return found

"""Parts training text from held-out text by the hash of a document's group, so that later additions move nothing."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from andrea_core.data.text import hash64

PERCENT = 5
FLOOR = 3


def group_hash(source: str, group: str) -> int:
    """Return the number that decides on which side a group of a source falls."""
    return hash64("split-v1", source, group)


def heldout_mask(
    hashes: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64], percent: int = PERCENT, floor: float = FLOOR
) -> npt.NDArray[np.bool_]:
    """Return (N,) True for the documents that are held out.

    Groups are ordered by (hash mod 100, hash). Those in the first `percent` of the hundred buckets are held out, and
    after them as many as it takes until the held-out part has `floor` percent of the bytes.

    Args:
        hashes: (N,) the group hash of each document; equal hashes are one group.
        sizes: (N,) the bytes of each document.
        percent: how many of the hundred hash buckets are held out.
        floor: the least part of the bytes to hold out, in percent.
    """
    groups, index = np.unique(hashes, return_inverse=True)
    totals = np.bincount(index, weights=sizes, minlength=len(groups))
    buckets = groups % np.uint64(100)
    order = np.lexsort((groups, buckets))
    before = np.cumsum(totals[order]) - totals[order]
    held = np.zeros(len(groups), dtype=bool)
    held[order] = (buckets[order] < percent) | (before < totals.sum() * floor / 100)
    return np.asarray(held[index])


def split_groups(source: str, sizes: Mapping[str, int], percent: int = PERCENT, floor: float = FLOOR) -> set[str]:
    """Return the names of the groups of a source that are held out, given the bytes of each group."""
    names = list(sizes)
    hashes = np.array([group_hash(source, name) for name in names], dtype=np.uint64)
    mask = heldout_mask(hashes, np.array(list(sizes.values()), dtype=np.int64), percent, floor)
    return {name for name, held in zip(names, mask, strict=True) if held}

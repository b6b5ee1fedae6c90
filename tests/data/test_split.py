import hashlib

import numpy as np
from hypothesis import given, strategies as st

from andrea_core.data.split import group_hash, heldout_mask, split_groups

_SIZES = st.dictionaries(st.text(max_size=8), st.integers(1, 10_000), min_size=1, max_size=60)


def _by_hand(source: str, sizes: dict[str, int], percent: int = 5, floor: int = 3) -> set[str]:
    """The rule as a plain loop: groups by (hash mod 100, hash) until the buckets and the floor are filled."""

    def key(group: str) -> tuple[int, int]:
        value = int.from_bytes(hashlib.sha256(f"split-v1\0{source}\0{group}".encode()).digest()[:8], "big")
        return value % 100, value

    held: set[str] = set()
    for group in sorted(sizes, key=key):
        if key(group)[0] >= percent and sum(sizes[name] for name in held) >= sum(sizes.values()) * floor / 100:
            break
        held.add(group)
    return held


@given(st.text(max_size=8), _SIZES)
def test_the_split_is_the_rule_of_hash_buckets_with_a_floor(source: str, sizes: dict[str, int]) -> None:
    assert split_groups(source, sizes) == _by_hand(source, sizes)


def test_the_split_of_known_groups_never_changes() -> None:
    sizes = {f"doc{number}": 1000 for number in range(40)}
    assert sorted(split_groups("essays", sizes)) == ["doc10", "doc20", "doc30", "doc5"]


@given(_SIZES, st.integers(0, 2**32))
def test_documents_of_one_group_fall_on_one_side(sizes: dict[str, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [name for name in sizes for _ in range(rng.integers(1, 4))]
    hashes = np.array([group_hash("s", name) for name in names], dtype=np.uint64)
    mask = heldout_mask(hashes, np.array([sizes[name] for name in names], dtype=np.int64))
    sides = {name: {bool(held) for other, held in zip(names, mask, strict=True) if other == name} for name in sizes}
    assert all(len(side) == 1 for side in sides.values())


def test_later_additions_move_no_group_out_of_the_first_buckets() -> None:
    few = {f"g{number}": 100 for number in range(200)}
    many = few | {f"h{number}": 100 for number in range(200)}
    first = {name for name in few if group_hash("s", name) % 100 < 5}
    assert first
    assert first <= split_groups("s", few)
    assert first <= split_groups("s", many)

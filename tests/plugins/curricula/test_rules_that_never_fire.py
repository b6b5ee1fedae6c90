"""Rules that could never end a stage, or would remember without bound, are refused."""

import pytest

from andrea_plugins.curricula import Cliff, Plateau, Threshold


@pytest.mark.parametrize("above", [float("nan"), float("inf")])
def test_a_threshold_that_nothing_crosses_is_refused(above):
    with pytest.raises(ValueError, match="above must be finite"):
        Threshold("heldout", "bits_per_byte", above=above)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cliff(nats=1.0, sources=()),
        lambda: Plateau(fall=0.1, sources=()),
        lambda: Threshold("heldout", "bits_per_byte", below=1.0, sources=()),
    ],
)
def test_a_rule_that_watches_no_source_is_refused(make):
    with pytest.raises(ValueError, match="sources must name at least one source"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cliff(nats=1.0, window=10**9),
        lambda: Plateau(fall=0.1, over=10**9),
        lambda: Threshold("heldout", "bits_per_byte", below=1.0, looks=10**9),
    ],
)
def test_a_memory_without_bound_is_refused(make):
    with pytest.raises(ValueError, match="must be at most 100000"):
        make()

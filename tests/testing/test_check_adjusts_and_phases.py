"""The checks of adjustments and phase lengths, each with good and bad plugins."""

import sys
from subprocess import run

import attrs
import numpy as np
import pytest

from andrea_core.testing import check_adjust, check_phases
from andrea_plugins import phases
from andrea_plugins.adjusts import RelativeFloors


@attrs.frozen
class NotNormalised:
    def adjust(self, requested, moment):
        return np.maximum(requested, 0.5 * moment.active)


@attrs.frozen
class FeedsAll:
    def adjust(self, requested, moment):
        return np.full(len(requested), 1.0 / len(requested))


@attrs.frozen
class InPlace:
    def adjust(self, requested, moment):
        requested /= 2.0
        return requested * 2.0


@attrs.frozen
class Jitters:
    def adjust(self, requested, moment):
        noisy = requested * np.random.random(len(requested))
        return noisy / noisy.sum()


def test_an_adjustment_that_keeps_the_contract_passes():
    check_adjust(RelativeFloors({"a": 0.8, "b": 0.7}))


@pytest.mark.parametrize(
    ("adjust", "message"),
    [
        (NotNormalised(), "the weights sum to .*; divide them by their sum"),
        (FeedsAll(), "which is excluded"),
        (InPlace(), "inputs are read-only"),
        (Jitters(), "equal inputs gave other weights"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_adjustments_that_break_the_contract_are_told_how(adjust, message):
    with pytest.raises(AssertionError, match=message):
        check_adjust(adjust)


@attrs.frozen
class NumpyLength:
    def length(self, context, rng):
        return rng.integers(7, 42)


@attrs.frozen
class ZeroLength:
    def length(self, context, rng):
        return 0


@attrs.frozen
class OwnDice:
    def length(self, context, rng):
        return int(np.random.randint(1, 10**6))


@pytest.mark.parametrize("lengths", [phases.Uniform(), phases.Fixed(3)], ids=repr)
def test_phase_lengths_that_keep_the_contract_pass(lengths):
    check_phases(lengths)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (NumpyLength(), r"a length is an int, so wrap it in int\(\)"),
        (ZeroLength(), "a phase has at least one step"),
        (OwnDice(), "draw from the rng that is passed in"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_phase_lengths_that_break_the_contract_are_told_how(lengths, message):
    with pytest.raises(AssertionError, match=message):
        check_phases(lengths)


def test_the_checks_are_importable_without_hypothesis():
    code = "import sys, andrea_core.testing as t; sys.exit('hypothesis' in sys.modules or not t.check_policy)"

    assert run([sys.executable, "-c", code], check=False).returncode == 0

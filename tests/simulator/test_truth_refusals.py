"""What a truth's file may hold wrongly is one message with its own key, and the source that it is about."""

import itertools

import numpy as np
import pytest

from andrea_core.errors import ScenarioError
from andrea_core.simulator.learner import Learner
from andrea_core.simulator.presets import PRESETS
from andrea_core.simulator.truth_file import Extent, fitted, truth_of
from andrea_core.simulator.truth_numbers import BOUNDS

EXTENT = Extent(("birds", "ships"), 100, 32)
PLAIN = {
    "floor": 1.0, "start": 5.0, "exponent": 0.5, "noise": 0.1, "size": 0.2, "transfer": [[1.0, 0.0], [0.3, 1.0]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"floor": 10**400}, "floor must be 2 numbers"),
        ({"floor": "1"}, "floor must be 2 numbers, or one for all, got '1'"),
        ({"floor": [True, False]}, "floor must be 2 numbers"),
        ({"unit": 10**400}, "unit is larger than any"),
        ({"unit": 0}, "unit must be finite and between 1e-09 and 1e.09, got 0"),
        ({"start": 1e300}, "start must be finite, not negative and at most 1e.06, got 1e.300 for source 'birds'"),
        ({"floor": -1e308}, "floor must be .* got -1e.308"),
        ({"exponent": 1e308}, "exponent must be finite, greater than 0 and at most 10, got 1e.308"),
        ({"noise": [0, 1e308]}, "noise must be .* at most 1e.06, got 1e.308 for source 'ships'"),
        ({"offset": [1.0, 0.0]}, "offset must be finite and between 1e-06 and 1e.06, got 0.0 for source 'ships'"),
        ({"sources": ["ships", "birds"], "noise": [-1, 0]}, "noise must be .* got -1.0 for source 'ships'"),
        ({"size": 1e300}, "size must be .* at most 1e.09, got 1e.300"),
        ({"size": float("nan")}, "size must be finite"),
        ({"half_life": 1e-300}, "half_life 1e-300 forgets everything .* must be at least 0.00034 "),
        ({"half_life": 1e300}, "half_life must be .* at most 1e.09"),
        ({"changes": 3}, "changes must be a list of tables"),
        ({"changes": [{"at": 10**400, "transfer": [[1, 0], [0, 1]]}]}, "at is larger than any"),
        ({"changes": [{"at": 0.5, "transfer": [[1, 0], [0, 1e308]]}]}, r"changes\[0\].transfer\[1\]\[1\] must be"),
        ({"transfer": [[1e308, 1e308], [0, 1]]}, r"transfer\[0\]\[0\] must be .*what 'birds' teaches 'birds'"),
        ({"transfer": 1}, "transfer must be 2 rows of 2 numbers; 1 has"),
        ({"transfer": [[1, 0]]}, r"transfer must be 2 rows of 2 numbers; \[\[1, 0\]\] has the shape \(1, 2\)"),
        ({"transfer": [[1, 0], [1]]}, "transfer must be 2 rows of 2 numbers, got"),
        ({"transfer": [[1.0]]}, "is of 1 sources, the scenario has 2"),
        ({"sources": ["birds", "birds"]}, "its sources name 'birds' more than once"),
        ({"sources": ["birds", "boats"]}, "not the scenario's: boats, ships on one side only"),
    ],
)
def test_a_wrong_number_is_named_as_the_file_has_it(changed, words):
    with pytest.raises(ScenarioError, match=words):
        fitted({**PLAIN, **changed}, EXTENT, "here.toml")


def test_two_changes_that_round_to_one_step_are_followed():
    matrices = ([[0.0, 1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]])
    changes = [{"at": at, "transfer": one} for at, one in zip((0.500, 0.501), matrices, strict=True)]
    truth = fitted({**PLAIN, "changes": changes, "half_life": 0.5}, EXTENT, "here.toml")
    path = truth.advance(np.zeros(2), np.full((100, 2), 16.0), 0)

    assert path.shape == (101, 2)
    assert np.array_equal(truth.teaching(50), np.diag([2.0, 2.0]) / truth.unit)


CORNERS = {key: (bounds.least or bounds.most / 1e12, bounds.most) for key, bounds in BOUNDS.items()}


@pytest.mark.parametrize("half_life", [0.001, 1e9])
def test_every_corner_of_the_bounds_keeps_losses_slopes_and_gradients_finite(half_life):
    keys = ("exponent", "offset", "size", "unit", "noise")
    for corner in itertools.product(*(CORNERS[key] for key in keys)):
        for teaches in (0.0, 1e6):
            numbers = {"start": 1e6, "floor": 0.0, "half_life": half_life, **dict(zip(keys, corner, strict=True))}
            truth = fitted({**numbers, "transfer": [[teaches, 0], [teaches, 1]]}, EXTENT, "here.toml")
            path = truth.advance(np.zeros(2), np.full((100, 2), 16.0), 0)
            gradients = Learner(truth, 8, 1).gradients(path[-1], np.ones(2, bool), 0, 32)
            found = (truth.loss(path), truth.slope(path), gradients.train, gradients.heldout)
            assert all(np.isfinite(one).all() for one in found)
            assert truth.loss(path).max() <= 1.0001e6


def test_what_a_file_leaves_out_has_a_default():
    truth = fitted({"floor": 1.0, "start": 5.0, "exponent": 0.5, "size": 0.2}, EXTENT, "here.toml")

    assert np.array_equal(truth.transfer, np.eye(2))
    assert truth.noise.tolist() == [0.0, 0.0]
    assert truth.retention == 1.0


@pytest.mark.parametrize("asked", ["nix", "bad.py", "."])
def test_what_is_no_truth_is_told_what_one_is_and_the_presets_once(asked):
    with pytest.raises(ScenarioError, match="a preset's name or a TOML file") as caught:
        truth_of(asked, EXTENT)
    assert all(str(caught.value).count(name) == 1 for name in PRESETS)

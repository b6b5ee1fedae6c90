"""What a truth's file may hold wrongly is one message with its own key, and the source that it is about."""

import numpy as np
import pytest

from andrea_core.errors import ScenarioError
from andrea_core.simulator.truth_file import Extent, fitted

EXTENT = Extent(("birds", "ships"), 100, 32)
PLAIN = {
    "floor": 1.0, "start": 5.0, "exponent": 0.5, "noise": 0.1, "size": 0.2, "transfer": [[1.0, 0.0], [0.3, 1.0]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"floor": 10**400}, "floor must be 2 numbers"),
        ({"unit": 10**400}, "unit is larger than any"),
        ({"unit": 0}, "unit must be greater than 0"),
        ({"offset": [1.0, 0.0]}, "offset must be finite and greater than 0, got 0.0 for source 'ships'"),
        ({"sources": ["ships", "birds"], "noise": [-1, 0]}, "noise must be .* got -1.0 for source 'ships'"),
        ({"offset": 1e300, "exponent": 5.0}, r"start, offset and exponent \(together\) must be finite"),
        ({"size": 1e300}, r"size asks for more than 2\*\*62 tokens"),
        ({"size": float("nan")}, "size must be finite"),
        ({"half_life": 1e-300}, "half_life 1e-300 forgets everything"),
        ({"changes": 3}, "changes must be a list of tables"),
        ({"changes": [{"at": 10**400, "transfer": [[1, 0], [0, 1]]}]}, "at is larger than any"),
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

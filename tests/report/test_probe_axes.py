"""A probe that looked once, or always found the same, can be read off its axis."""

import numpy as np
import pytest

from andrea_core.report.probes import _about


@pytest.mark.parametrize("value", [0.0337, 7.7e-12, -4.0, 1e30])
@pytest.mark.parametrize("looks", [1, 3])
def test_a_value_that_never_changes_stands_in_the_middle_of_an_axis_of_its_own_size(value: float, looks: int) -> None:
    low, high = _about(np.array([np.nan, *[value] * looks])) or (0.0, 0.0)

    assert low < value < high
    assert high - low == pytest.approx(abs(value))


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.0], [np.nan], []])
def test_the_figure_chooses_the_axis_of_other_values(values: list[float]) -> None:
    assert _about(np.array(values, np.float64)) is None

"""Settings at the ends of what floating point can hold: every policy plays on, with no warning from an overflow."""

import attrs
import numpy as np
import pytest

from andrea_core.errors import ScenarioError
from andrea_core.plugins import Catalogue
from andrea_core.report.style import f4
from andrea_core.testing.bandits import paying, play
from andrea_plugins.policies.mixing import softmax, tempered
from andrea_plugins.policies.tally import Tally, scores

EXTREMES = (1e308, 1e-300, 5e-324, -1e308)
REWARDS = np.random.default_rng(0).normal(size=(14, 4))


def settings_of(cls):
    """The policies of a class that differ from its default in one number, an extreme one that it accepts."""
    try:
        base = cls()
    except (TypeError, ScenarioError):  # it has settings without a default
        return
    for field in attrs.fields(cls):
        if type(getattr(base, field.name)) is float:
            for extreme in EXTREMES:
                try:
                    yield attrs.evolve(base, **{field.name: extreme})
                except ValueError:  # out of its bounds
                    continue


@pytest.mark.parametrize("name", sorted(Catalogue.of().table["policies"]))
@pytest.mark.parametrize("scale", [1.0, 1e300])
def test_a_policy_plays_on_under_an_extreme_setting(name, scale):
    for policy in settings_of(Catalogue.of().table["policies"][name].cls):
        try:
            drawn = play(policy, paying(scale * REWARDS), tuple("abcd"), len(REWARDS), 1)
        except ScenarioError:  # it needs files
            continue
        assert len(drawn) == len(REWARDS)


def test_the_largest_bonus_still_tells_sources_apart():
    tally = Tally(np.array([1.0, 5.0, 3.0]), np.ones(3), np.zeros(3))

    assert np.isfinite(scores(tally, 1e308)).all()
    assert np.argsort(scores(tally, 1e308)).tolist() == np.argsort(scores(tally, 1.0)).tolist() == [1, 2, 0]


def test_a_temperature_of_next_to_nothing_gives_all_to_the_best_and_a_huge_one_the_same_to_each():
    values, active = np.array([0.0, 1.0, -1e300]), np.array([True, True, True])

    assert softmax(tempered(values, 5e-324), active).tolist() == [0.0, 1.0, 0.0]
    assert softmax(tempered(values[:2], 1e308), active[:2]).tolist() == [0.5, 0.5]


def test_what_a_figure_cannot_hold_is_left_out_without_a_warning():
    kept = f4([1.5, 3.4e38, 3.5e38, -1e308, np.inf, np.nan])

    assert kept.dtype == np.float32
    assert np.isnan(kept).tolist() == [False, False, True, True, True, True]

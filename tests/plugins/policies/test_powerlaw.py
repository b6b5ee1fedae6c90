"""Power laws: exact recovery, agreement with scipy's L-BFGS-B, robustness, and bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from andrea_plugins.policies.powerlaw import FEWEST, FLATTEST, fitted

COUNTS = np.exp(np.linspace(np.log(1e4), np.log(1e7), 96))
PLANTED = [(2.0, 30.0, 0.3), (1.5, 200.0, 0.5), (0.7, 10.0, 0.15)]


def losses(noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    law = np.array([floor + scale * COUNTS**-exponent for floor, scale, exponent in PLANTED])
    return law * np.exp(noise * rng.normal(size=law.shape))


def fit(loss, used=96, steepest=0.8):
    rows = len(loss)
    return fitted(np.tile(np.log(COUNTS), (rows, 1)), np.log(loss), np.full(rows, used), steepest)


def misfit(law, loss):
    """The mean Huber loss of the log residual, delta 1e-3, as the paper has it."""
    floor, reducible, exponent = law
    off = np.abs(np.log(np.exp(floor) + np.exp(reducible) * (COUNTS / COUNTS[-1]) ** -exponent) - np.log(loss))
    return 1e6 * np.where(off <= 1e-3, 0.5 * off**2, 1e-3 * (off - 0.5e-3)).mean()


def test_planted_laws_come_back():
    found = fit(losses())

    assert found.floor == pytest.approx([2.0, 1.5, 0.7], abs=1e-6)
    assert found.exponent == pytest.approx([0.3, 0.5, 0.15], abs=1e-6)
    assert found.reducible == pytest.approx([scale * 1e7**-exponent for _, scale, exponent in PLANTED], abs=1e-6)


@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_no_minimum_of_l_bfgs_from_a_grid_lies_lower(noise):
    loss = losses(noise)
    found = fit(loss)
    for row in range(3):
        mine = misfit((np.log(found.floor[row]), np.log(found.reducible[row]), found.exponent[row]), loss[row])
        starts = [(e, r, a) for e in (-0.5, 0.4) for r in (-2.0, 0.0) for a in (0.1, 0.5)]
        bounds = [(-7.0, 3.0), (-14.0, 5.0), (FLATTEST, 0.8)]
        theirs = [minimize(misfit, start, (loss[row],), "L-BFGS-B", bounds=bounds).fun for start in starts]

        assert mine <= min(theirs) * (1 + 1e-6)


def test_outliers_move_a_fit_little():
    loss = losses()
    loss[:, ::12] *= 50.0
    found = fit(loss)

    assert found.exponent == pytest.approx([0.3, 0.5, 0.15], abs=1e-3)


def test_too_few_points_give_no_law_and_others_are_not_disturbed():
    used = np.array([96, FEWEST - 1, 96])
    found = fitted(np.tile(np.log(COUNTS), (3, 1)), np.log(losses()), used, 0.8)

    assert np.isnan(found.floor).tolist() == [False, True, False]
    assert found.exponent[[0, 2]] == pytest.approx(fit(losses()).exponent[[0, 2]], abs=1e-9)


def test_the_exponent_stays_within_its_bounds():
    rising = np.linspace(2.0, 3.0, 96)[None]
    steep = (1.0 + 1e6 * COUNTS**-1.3)[None]

    assert fit(steep).exponent[0] == pytest.approx(0.8)
    assert FLATTEST <= fit(rising).exponent[0] <= 0.8
    assert np.isfinite(np.array(fit(rising))).all()
    assert np.isfinite(np.array(fit(np.full((1, 96), 2.0)))).all()


@pytest.mark.parametrize("seed", range(4))
def test_absurd_losses_give_finite_laws(seed):
    loss = np.random.default_rng(seed).choice([1e-300, 1e-6, 2.0, 5.0, 1e6], size=(3, 96))

    assert np.isfinite(np.array(fit(loss))).all()

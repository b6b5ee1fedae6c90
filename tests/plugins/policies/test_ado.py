"""ADO: planted laws recovered, the mixture by its equation, the exact floor, its cadence, and its bounded history."""

import numpy as np
import pytest
from mixtures import phase, proposal_of, sources_of, target_of

from andrea_core import Sources
from andrea_plugins.policies.ado import Ado
from andrea_plugins.policies.history import POINTS, History

EXPONENT, FLOOR, SCALE = np.array([0.3, 0.5, 0.15]), np.array([2.0, 1.5, 0.7]), np.array([30.0, 200.0, 10.0])
TOKENS = 20_000  # of a phase, which is 25 steps


def run(policy, phases, noise=0.0):
    """Train on what the policy asks for in a world of planted laws; the state, tokens and weights after each phase."""
    state, rng, trained = policy.start(sources_of(3)), np.random.default_rng(0), np.zeros(3)
    for number in range(phases):
        weights = target_of(policy, state, 3)
        got = np.round(weights * TOKENS)
        law = FLOOR + SCALE * (trained + got / 2) ** -EXPONENT
        loss = law * np.exp(noise * rng.normal(size=3))
        trained = trained + got
        state = policy.update(state, phase(weights, loss=loss, number=number, step=25 * (number + 1), tokens=TOKENS))
        yield state, trained, weights


def test_planted_exponents_and_floors_are_recovered():
    *_, (state, _, _) = run(Ado(start_at=2500, ignore=0, refit=2500), 400)

    assert state.laws.exponent == pytest.approx(EXPONENT, abs=1e-4)
    assert state.laws.floor == pytest.approx(FLOOR, abs=1e-3)


def test_planted_laws_are_recovered_through_one_per_cent_of_noise():
    *_, (state, _, _) = run(Ado(start_at=2500, ignore=0, refit=2500), 400, noise=0.01)

    assert state.laws.exponent == pytest.approx(EXPONENT, rel=0.2)
    assert state.laws.floor == pytest.approx(FLOOR, rel=0.15)


def test_the_mixture_is_the_equations_one():
    policy = Ado(start_at=500, ignore=0, refit=250, floor=0.0)
    path = list(run(policy, 60))
    credit, mean = np.full(3, 1 / 3), np.full(3, 1 / 3)
    for number, (state, trained, weights) in enumerate(path):
        credit = 0.9 * credit + 0.1 * np.round(weights * TOKENS) / np.round(weights * TOKENS).sum()
        rho = np.full(3, 1 / 3)
        if state.fitted_at >= 0:
            slope = EXPONENT * SCALE * trained**-EXPONENT / trained
            rho = credit**0.5 * slope / (credit**0.5 * slope).sum()
        wish = 0.1 * rho + 0.9 * mean
        mean = (mean * (number + 1) + wish) / (number + 2)
        assert state.wish == pytest.approx(wish, rel=1e-3)

    assert path[-1][0].fitted_at == 1500
    assert np.ptp(path[-1][0].wish) > 0.01


def test_it_keeps_the_prior_until_the_first_fit_and_refits_at_its_cadence():
    policy = Ado(start_at=1000, ignore=0, refit=500, prior={"s0": 0.5, "s1": 0.3, "s2": 0.2})
    fits = []
    for state, trained, weights in run(policy, 100):
        if trained.sum() <= 40 * TOKENS:
            assert weights == pytest.approx([0.5, 0.3, 0.2])
        fits.append(state.fitted_at)

    assert sorted(set(fits)) == [-1, 1000, 1500, 2000, 2500]


def test_the_prior_is_in_proportion_to_the_sources_tokens():
    state = Ado().start(Sources(("s0", "s1"), np.array([3000, 1000])))

    assert target_of(Ado(), state, 2) == pytest.approx([0.75, 0.25])


def test_the_floor_holds_exactly():
    policy = Ado(start_at=250, ignore=0, refit=250, floor=0.3, gamma2=1.0)
    weights = [weights for state, _, weights in run(policy, 60)][-1]

    assert weights.min() >= 0.3 - 1e-15
    assert weights.max() > 0.35


def test_a_source_without_a_law_keeps_its_prior_share_of_rho():
    policy = Ado(start_at=0, ignore=0, refit=25, gamma2=1.0, floor=0.0, prior={"s0": 0.5, "s1": 0.3, "s2": 0.2})
    state = policy.start(sources_of(3))
    for number in range(12):
        loss = np.array([3.0, 2.5, np.nan]) + 5.0 / (number + 1)
        state = policy.update(state, phase([0.5, 0.5, 0.0], loss=loss, number=number, step=25 * number))

    assert np.isnan(state.laws.exponent).tolist() == [False, False, True]
    assert state.wish[2] == pytest.approx(0.2)
    assert state.wish.sum() == pytest.approx(1.0)
    assert np.isnan(proposal_of(policy, state, 3).notes["exponent"][2])


def test_steps_before_ignore_leave_no_point_but_count_as_trained():
    policy = Ado(ignore=50)
    *_, (state, trained, _) = run(policy, 3)

    assert state.history.used.tolist() == [2, 2, 2]
    assert np.exp(state.history.count[0, 1]) == pytest.approx(trained[0] * 5 / 6, rel=1e-6)


def test_all_tokens_may_be_the_clock():
    *_, (state, trained, _) = run(Ado(ignore=0, count="all"), 3)

    assert np.exp(state.history.count[:, 2]) == pytest.approx(trained.sum() * 5 / 6, rel=1e-6)


def test_a_history_stays_bounded_ordered_and_even_and_keeps_all_tokens():
    history = History.empty(2)
    for number in range(3000):
        loss = np.array([3.0, np.nan if number % 3 else 2.0])
        history = history.appended(np.full(2, 50.0 + 100 * number), loss, np.array([100.0, 100.0]))

    assert history.used.tolist() == [POINTS, POINTS]
    assert history.mass.sum(1) == pytest.approx([300_000.0, 100_000.0])
    gaps = np.diff(history.count, axis=1)
    assert (gaps > 0).all()
    assert gaps[0, 40:].max() < 4 * np.median(gaps[0, 40:])
    assert np.exp(history.loss) == pytest.approx(np.tile([[3.0], [2.0]], POINTS))


@pytest.mark.parametrize("loss", [1e308, np.inf, np.nan, 0.0, -1.0, 1e-300])
def test_no_loss_breaks_the_weights(loss):
    policy = Ado(start_at=0, ignore=0, refit=200)
    state = policy.start(sources_of(3))
    for number in range(24):
        weights = target_of(policy, state, 3)
        assert np.isfinite(weights).all()
        said = phase(weights, loss=[loss, 2.0, 3.0 + number % 2], number=number, step=25 * number)
        state = policy.update(state, said)

"""The noise scale: unbiased on linear regression with a known truth, ratio of means and not mean of ratios."""

import numpy as np
import pytest
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes.noise_scale import NoiseScale, two_batch


def regression(seed: int, rows: int) -> np.ndarray:
    """Gradients (rows, 5) of (x'w - y)^2 / 2 at w = 0, for x ~ N(0, 1)^5, y = x'v + N(0, 1), v = (.5, 0, 0, 0, 0)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 5))
    return -x * (0.5 * x[:, 0] + rng.normal(size=rows))[:, None]


# E[g] = -v, so |G|^2 = 1/4. E|g|^2 = E[|x|^2 (x'v)^2] + E|x|^2 = (5 + 2)/4 + 5, so S = 27/4 - 1/4 = 6.5 and B = 26.
SIGNAL, NOISE = 0.25, 6.5


def estimates(count: int, small: int = 2, batches: int = 8) -> np.ndarray:
    draws = (regression(seed, small * batches).reshape(batches, small, 5).mean(1) for seed in range(count))
    return np.array([two_batch(list(draw), small) for draw in draws])


def test_both_estimates_are_unbiased() -> None:
    found = estimates(4000)
    for column, truth in enumerate((SIGNAL, NOISE)):
        error = found[:, column].std() / np.sqrt(len(found))
        assert found[:, column].mean() == pytest.approx(truth, abs=4 * error)
        assert error < 0.05 * truth


def test_they_converge_with_the_sample() -> None:
    signal, noise = two_batch(list(regression(0, 400_000).reshape(-1, 4, 5).mean(1)), 4)
    assert signal == pytest.approx(SIGNAL, rel=0.05)
    assert noise == pytest.approx(NOISE, rel=0.03)


def test_the_ratio_of_averages_converges() -> None:
    probe, found = NoiseScale(memory=0.999), estimates(4000, batches=64)
    state = probe.start(SOURCES)
    for signal, noise in found:
        measured, state = probe.scale(state, float(signal), float(noise), 10)

    assert measured["scale"].value == pytest.approx(NOISE / SIGNAL, rel=0.06)
    assert measured["scale_tokens"].value == pytest.approx(10 * float(measured["scale"].value))


def test_the_average_of_ratios_is_biased_upward() -> None:
    # With 512 rows |G|^2 has a relative standard error r of about .22, which biases the ratio by about r^2, 5 %.
    draws = (regression(seed, 512).reshape(256, 2, 5).mean(1) for seed in range(20_000, 22_000))
    found = np.array([two_batch(list(draw), 2) for draw in draws])
    ratios = found[:, 1] / found[:, 0]
    assert (found[:, 0] > 0).all()
    assert ratios.mean() - NOISE / SIGNAL > 4 * ratios.std() / np.sqrt(len(ratios))


def test_the_first_average_is_the_first_estimate() -> None:
    for memory in (0.0, 0.9, 1.0):
        probe = NoiseScale(memory=memory)
        measured, state = probe.scale(probe.start(SOURCES), 2.0, 6.0, 1)
        assert measured["scale"].value == pytest.approx(3)
        later = probe.scale(state, 1.0, 6.0, 1)[0]["signal"].value
        assert later == pytest.approx({0.0: 1.0, 0.9: (0.9 * 0.1 * 2 + 0.1) / 0.19, 1.0: 2.0}[memory])


def test_a_signal_that_is_not_positive_is_undetermined() -> None:
    measured, state = NoiseScale().scale(NoiseScale().start(SOURCES), -1.0, 5.0, 1)
    assert measured["scale"].status == "undetermined"
    broken, after = NoiseScale().scale(state, float("nan"), 1.0, 1)
    assert (broken["scale"].status, after) == ("nonfinite", state)


def test_gradients_without_noise_have_none() -> None:
    signal, noise = two_batch([np.array([3.0, 4.0])] * 4, 2)
    assert (signal, noise) == (25, 0)


def test_the_probe_measures_a_model_and_leaves_it_bit_for_bit() -> None:
    model = small_model()
    view, before = ModelView(model, CORPUS, 0), fingerprint(model)  # type: ignore[arg-type]
    probe = NoiseScale(windows=12, small=2)
    found, state = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))

    assert fingerprint(model) == before
    whole = view.windows(0, 4 * 12)
    rows = np.random.default_rng(0).permutation(whole)[:12]
    slopes = [view.objective([rows[k : k + 2]]).gradient().numpy() for k in range(0, len(rows) - 1, 2)]
    assert (found["signal"].value, found["noise"].value) == pytest.approx(two_batch(slopes, 2))
    assert state.weight == pytest.approx(0.1)


def test_too_little_text_is_missing() -> None:
    view = ModelView(small_model(), CORPUS, 0)  # type: ignore[arg-type]
    found, _ = NoiseScale(windows=2, small=2).measure(NoiseScale().start(SOURCES), view, np.random.default_rng(0))
    assert found["scale"].status == "missing"

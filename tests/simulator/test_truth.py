"""The truth: the law of losses, progress that is forgotten or changes its meaning, and what is refused."""

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core.errors import ScenarioError
from andrea_core.simulator.presets import COMMITTED, PRESETS, drawn, preset
from andrea_core.simulator.truth import checked
from andrea_core.simulator.truth_file import Extent, fitted, truth_of

SIXTEEN = tuple(f"s{i}" for i in range(COMMITTED))
EXTENT = Extent(SIXTEEN, 1000, 64)


def step_by_step(truth, tokens, start):
    """The progress after each step, by the definition."""
    progress, path = np.zeros(len(truth)), []
    for offset, used in enumerate(tokens):
        matrix = truth.transfer
        for change in truth.changes:
            matrix = change.transfer if start + offset >= change.step else matrix
        progress = truth.retention * progress + matrix @ used / truth.unit
        path.append(progress)
    return np.array(path)


@given(st.floats(0.05, 1.0), st.lists(st.integers(1, 60), max_size=3, unique=True), st.integers(0, 30))
def test_progress_is_what_single_steps_add_up_to(make, retention, changes, start):
    truth = make(retention=retention, changes=sorted(changes))
    tokens = np.random.default_rng(1).integers(0, 50, (40, 3)).astype(float)
    path = truth.advance(np.zeros(3), tokens, start)

    assert path[0] == pytest.approx(np.zeros(3))
    assert path[1:] == pytest.approx(step_by_step(truth, tokens, start), rel=1e-9)


def test_a_loss_is_e_plus_b_times_progress_to_the_minus_a_and_its_slope_is_the_derivative(make):
    truth = make()
    progress = np.array([3.0, 0.0, 70.0])
    by_hand = [
        truth.floor[i] + truth.scale[i] * (truth.offset[i] + progress[i]) ** -truth.exponent[i] for i in range(3)
    ]
    nudge = 1e-6

    assert truth.loss(progress) == pytest.approx(by_hand)
    assert truth.slope(progress) == pytest.approx((truth.loss(progress - nudge) - truth.loss(progress + nudge)) / 2e-6)


def test_the_mean_loss_is_that_of_the_targets_alone(make):
    truth = attrs.evolve(make(), target=np.array([True, False, True]))

    assert truth.mean(np.zeros(3)) == pytest.approx(truth.loss(np.zeros(3))[[0, 2]].mean())


def test_the_committed_matrices_are_those_of_the_fixed_seed():
    assert {k: v for k, v in preset("transfer", SIXTEEN).items() if k != "name"} == drawn(COMMITTED)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "vertex_trap"])
@pytest.mark.parametrize("count", [2, 3, 16, 40])
def test_every_preset_fits_any_number_of_sources_and_begins_at_a_finite_loss(name, count):
    extent = Extent(tuple(f"s{i}" for i in range(count)), 500, 32)
    truth = truth_of(name, extent)
    start = truth.loss(np.zeros(count))

    assert len(truth) == count
    assert start[~truth.pure_noise] == pytest.approx(np.full(int((~truth.pure_noise).sum()), 9.04))


def test_a_preset_means_the_same_at_every_length_of_a_run():
    short, long = (truth_of("forgetting", Extent(SIXTEEN, steps, 8)) for steps in (1000, 50_000))

    def at_the_end(truth, steps):
        tokens = np.full((steps, COMMITTED), 8 / COMMITTED)
        return truth.advance(np.zeros(COMMITTED), tokens, 0)[-1]

    assert at_the_end(short, 1000) == pytest.approx(at_the_end(long, 50_000), rel=0.01)
    assert short.tokens.sum() * 50 == pytest.approx(long.tokens.sum(), rel=0.01)


def test_pure_noise_teaches_nothing_learns_nothing_and_is_no_target():
    truth = truth_of("noise", EXTENT)

    assert truth.pure_noise.tolist() == [False] * 15 + [True]
    assert not truth.transfer[15].any()
    assert not truth.transfer[:, 15].any()
    assert not truth.target[15]
    assert truth.loss(np.full(16, 50.0))[15] == truth.loss(np.zeros(16))[15] == 3.0


def test_at_a_change_point_every_source_teaches_what_another_one_taught(make):
    truth = truth_of("change_points", EXTENT)

    assert [change.step for change in truth.changes] == [333, 667]
    assert (truth.teaching(332) == truth.transfer / truth.unit).all()
    assert (truth.teaching(333) == np.roll(truth.transfer, 5, axis=1) / truth.unit).all()


def data(**changes):
    return {
        "floor": 1.0,
        "start": 5.0,
        "exponent": 0.5,
        "noise": 0.1,
        "size": [0.1, 0.2],
        "transfer": [[1.0, 0.2], [0.0, 1.0]],
        **changes,
    }


TWO = Extent(("a", "b"), 100, 10)


def test_a_file_that_names_its_sources_is_put_in_the_scenarios_order():
    truth = fitted(data(sources=["b", "a"]), TWO, "x.toml")

    assert truth.tokens.tolist() == [200, 100]
    assert truth.transfer.tolist() == [[1.0, 0.0], [0.2, 1.0]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"floors": 1}, "did you mean 'floor'"),
        ({"transfer": [[1.0]]}, "is of 1 sources, the scenario has 2"),
        ({"transfer": [[1.0, 0.0], [0.0]]}, "transfer must be 2 rows of 2 numbers"),
        (
            {"transfer": [[1.0, -0.1], [0.0, 1.0]]},
            "transfer[0][1] must be finite, not negative and at most 1e+06, got -0.1",
        ),
        ({"noise": [0.1, 0.1, 0.1]}, "has the shape (3,)"),
        ({"noise": "loud"}, "noise must be 2 numbers, or one for all, got 'loud'"),
        ({"exponent": 0}, "exponent must be finite, greater than 0 and at most 10, got 0.0 for source 'a'"),
        ({"floor": 6.0}, "start must not be below floor"),
        ({"sources": ["a", "c"]}, "b, c on one side only"),
        ({"target": ["z"]}, "no source 'z'"),
        ({"target": []}, "target must name at least one source"),
        ({"half_life": 0}, "half_life must be finite, greater than 0"),
        ({"changes": [{"at": 2.0, "transfer": [[1, 0], [0, 1]]}]}, "changes[0].at must lie between 0 and 1"),
        ({"changes": [{"at": 0.5}]}, "must have the keys at and transfer"),
        ({"unit": 0}, "unit must be finite and between 1e-09 and 1e+09"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused_with_its_place(changes, words):
    with pytest.raises(ScenarioError) as caught:
        fitted(data(**changes), TWO, "x.toml")

    assert words in str(caught.value)
    assert "x.toml" in str(caught.value)


def test_a_truth_that_lacks_keys_is_told_which():
    with pytest.raises(ScenarioError, match="missing start, floor; needed are"):
        fitted({key: value for key, value in data().items() if key not in ("floor", "start")}, TWO, "x.toml")


def test_arrays_that_do_not_fit_together_are_refused(make):
    with pytest.raises(ScenarioError, match=r"noise must have the shape \(3,\)"):
        checked(attrs.evolve(make(), noise=np.zeros(2)))


def test_the_vertex_trap_needs_the_source_of_that_name():
    with pytest.raises(ScenarioError, match="needs a source 'repo-docs'"):
        truth_of("vertex_trap", EXTENT)

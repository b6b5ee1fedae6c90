"""The curvature probes measure what is planted, say what they could not, and read the run's own optimiser."""

import math

import attrs
import numpy as np
import pytest
import torch
from planted_curvature import quadratic, rotated
from probed_models import CORPUS, SOURCES

from andrea_core import Trained
from andrea_core.model.course import Course
from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.model.trainer import Trainer
from andrea_core.model.view import ModelView
from andrea_plugins.probes.adam_sharpness import AdamSharpness
from andrea_plugins.probes.basin_width import BasinWidth
from andrea_plugins.probes.critical_sharpness import CriticalSharpness, after, step_of
from andrea_plugins.probes.curved import newest_rows
from andrea_plugins.probes.sharpness import Sharpness
from andrea_plugins.probes.slices import Slices
from andrea_plugins.probes.spectrum import Spectrum
from andrea_plugins.probes.trace import Trace

SPECTRUM = [-8.0, *np.linspace(0, 4, 37), 4.5, 5.0]
SHARP = [Sharpness(k=2, tokens=64), Trace(draws=3, tokens=64), Spectrum(vectors=2, steps=3, tokens=64)]
STEPPED = [AdamSharpness(tokens=64), CriticalSharpness(tokens=64)]


def rng(seed=0):
    return np.random.default_rng(seed)


def trainer(use="adamw", steps=3, **settings):
    shape = attrs.evolve(PRESETS["tiny"], dropout=0.2)
    made = Trainer(
        shape,
        OptimizerSettings(use=use, **{"lr": 3e-3, "warmup": 5, **settings}),
        vocabulary=19,
        rows=4,
        total_steps=20,
        seed=1,
    )
    for tokens in rng(1).integers(0, 19, (steps, 4, 33)):
        made.step(tokens[:, :-1], tokens[:, 1:])
    return made


def view_of(made, stage="one"):
    count = len(CORPUS.sources)
    return ModelView(
        made.model, CORPUS, made.steps_done, Course(made, {"one": (0,), "two": tuple(range(count))}), stage
    )


def test_sharpness_finds_both_ends_and_the_ratio():
    found = Sharpness(k=3, tolerance=1e-9).sharpness(quadratic(rotated(SPECTRUM)), 0.1, rng())

    np.testing.assert_allclose(found["eigenvalues"].value, [5.0, 4.5, 4.0], rtol=1e-8)
    assert found["largest"].value == pytest.approx(5)
    assert found["smallest"].value == pytest.approx(-8)
    assert found["ratio"].value == pytest.approx(0.25)
    assert {one.status for one in found.values()} == {"ok"}


def test_sharpness_says_what_it_could_not_afford():
    found = Sharpness(products=3).sharpness(quadratic(rotated(SPECTRUM)), 0.1, rng())

    assert found["largest"].status == found["smallest"].status == "over_budget"
    assert found["products"].value == 3


def test_a_second_derivative_that_is_not_symmetric_is_said(monkeypatch):
    class Skew:
        products = 0

        def __init__(self, objective):
            self.matrix = rotated(SPECTRUM).triu()

        def __call__(self, vector):
            return self.matrix @ vector

    monkeypatch.setattr("andrea_core.landscape.hessian.Hessian", Skew)
    assert Sharpness().sharpness(quadratic(rotated(SPECTRUM)), 0.1, rng())["largest"].status == "asymmetric"


def test_adams_sharpness_is_that_of_the_preconditioned_matrix():
    a, diagonal = rotated(SPECTRUM), torch.linspace(0.01, 3, 40, dtype=torch.float64)
    found = AdamSharpness(tolerance=1e-9).sharpness(quadratic(a), diagonal, 0.01, 0.9, rng())

    root = diagonal.rsqrt()
    exact = float(torch.linalg.eigvalsh(root[:, None] * a * root)[-1])
    assert found["largest"].value == pytest.approx(exact, rel=1e-8)
    assert found["ratio"].value == pytest.approx(exact / (38 / 0.01), rel=1e-8)


def test_the_preconditioner_is_what_adam_divides_by():
    made = trainer(weight_decay=0.0)
    view, moments = view_of(made), view_of(made).moments()
    before = view.parameters()
    diagonal = view.preconditioner(list(before))
    first = torch.cat([moments[f"{name}.exp_avg"].reshape(-1) for name in before])
    rate = made.optimizer.param_groups[0]["lr"]
    # Undo the last step by it: the parameters before it, with their gradient, step to where they are.
    undone = torch.cat([p.reshape(-1) for p in before.values()]) + rate * first / diagonal
    again = trainer(steps=2, weight_decay=0.0)
    expected = torch.cat([p.detach().reshape(-1) for p in again.model.parameters()])
    torch.testing.assert_close(undone, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
def test_the_next_update_is_the_one_that_training_makes(use):
    made = trainer(use, clip=0.5)
    tokens = rng(9).integers(0, 19, (4, 33))
    view = view_of(made)
    made.model.eval()
    objective = view.objective([tokens])
    step = step_of(view, objective)
    before = objective.point()
    other = trainer(use, clip=0.5)
    other.model.eval()
    other.step(tokens[:, :-1], tokens[:, 1:])
    after_it = torch.cat([p.detach().reshape(-1) for p in other.model.parameters()])

    torch.testing.assert_close(before + step, after_it, rtol=1e-4, atol=2e-6)
    assert float((after_it - before).norm()) > 1e-3


def test_critical_sharpness_is_the_curvature_along_the_gradient():
    a = rotated([1.0, 7.0, *range(2, 20)])
    objective = quadratic(a, at=torch.ones(20, dtype=torch.float64))
    gradient = objective.gradient()
    found = CriticalSharpness(tolerance=1e-9).critical(objective, -0.03 * gradient, 0.03)

    assert found.value == pytest.approx(float(gradient @ a @ gradient / (gradient @ gradient)), rel=1e-7)
    flat = quadratic(torch.zeros(4, 4, dtype=torch.float64), linear=torch.ones(4, dtype=torch.float64))
    falls = CriticalSharpness().critical(flat, -torch.ones(4, dtype=torch.float64), 0.1)
    rises = CriticalSharpness().critical(flat, torch.ones(4, dtype=torch.float64), 0.1)
    assert (falls.value, falls.status) == (0.0, "unbounded")
    assert (rises.value, rises.status) == (math.inf, "undetermined")


def of_phase(view, steps=3):
    """Return the view after a phase of steps of 4 rows, row j of source i being full of 4 i + j."""
    places = np.indices((steps, 4))
    trained = Trained(0, np.ones((steps, 4)), places[0], places[1], lambda source, row: np.full(9, 4 * source + row))
    return view.after(trained)


@pytest.mark.parametrize(
    ("tokens", "rows"), [(1, [11]), (16, [11, 10]), (39, [11, 10, 9, 8]), (1000, range(11, -1, -1))]
)
def test_the_text_of_a_phase_is_its_newest_rows_as_many_as_the_tokens_hold(tokens, rows):
    (windows,) = newest_rows(of_phase(view_of(trainer())).trained, tokens)

    np.testing.assert_array_equal(windows, np.repeat(list(rows), 9).reshape(-1, 9))


def test_on_the_text_of_the_phase_the_curvature_is_that_of_its_rows_and_before_any_phase_missing():
    probe, view = AdamSharpness(text="phase", tokens=32, tolerance=1e-6), view_of(trainer(steps=2))
    after_it = of_phase(view)
    found, _ = probe.measure(None, after_it, rng())
    nothing, _ = probe.measure(None, view, rng())
    objective = view.objective(newest_rows(after_it.trained, 32))
    expected = probe.sharpness(objective, view.preconditioner(objective.names), view.learning_rate, 0.9, rng())

    assert found["largest"].value == expected["largest"].value > 0
    assert nothing["ratio"].status == "missing"


def test_the_next_stage_is_the_one_that_follows():
    assert [after(stage, ("one", "two")) for stage in ("one", "two", "odd")] == ["two", "two", "odd"]


def test_a_run_gives_all_numbers_on_fixed_text():
    made = trainer()
    for probe in [*SHARP, *STEPPED]:
        found, _ = probe.measure(None, view_of(made), rng(3))
        again, _ = probe.measure(None, view_of(made), rng(3))
        for name, one in found.items():
            np.testing.assert_array_equal(one.value, again[name].value)
            assert one.status == "ok", (probe, name)
            assert np.isfinite(one.value).all()


@pytest.mark.parametrize(
    "probe", [*SHARP, *STEPPED, BasinWidth(tokens=64), Slices(directions="eigen", points=3)], ids=repr
)
def test_every_probe_of_curvature_counts_its_products_and_states_a_status_for_every_value(probe):
    view = view_of(trainer())
    found, _ = probe.measure(probe.start(SOURCES), view, rng(3))

    assert found["products"].value == view.cost.products > 0
    assert view.cost.losses + view.cost.gradients > 0
    assert all(one.status != "ok" or np.isfinite(one.value).all() for one in found.values())


@pytest.mark.parametrize(
    "probe",
    [Sharpness(products=2), AdamSharpness(products=1), Trace(products=1), Spectrum(products=1), BasinWidth(losses=2)],
    ids=repr,
)
def test_a_value_that_could_not_be_afforded_is_never_called_ok(probe):
    probe = attrs.evolve(probe, tokens=64)
    found, _ = probe.measure(None, view_of(trainer()), rng(3))
    estimated = [one for name, one in found.items() if name not in ("loss", "products") and "trace" not in name]
    estimated += [found["trace"]] if isinstance(probe, Trace) else []

    assert estimated
    assert {one.status for one in estimated} <= {"over_budget", "missing"}


def test_the_trace_of_the_model_is_the_sum_of_its_parts():
    found, _ = Trace(draws=3, tokens=64).measure(None, view_of(trainer()), rng())
    parts = [
        one.value
        for name, one in found.items()
        if not name.endswith("error") and name not in ("trace", "loss", "products")
    ]

    assert len(parts) == 12
    assert sum(parts) == pytest.approx(found["trace"].value, rel=1e-5)
    plus, _ = Trace(draws=9, tokens=64, method="hutch++").measure(None, view_of(trainer()), rng())
    assert plus.keys() == {"loss", "trace", "trace_error", "products"}


def test_the_density_of_a_planted_spectrum_integrates_to_one():
    found = Spectrum(vectors=3, steps=40, width=0.02).spectrum(quadratic(rotated(SPECTRUM)), rng())

    assert np.trapezoid(found["density"].value, found["eigenvalue"].value) == pytest.approx(1, abs=1e-3)
    assert (found["low"].value, found["high"].value) == (pytest.approx(-8), pytest.approx(5))
    assert abs(found["mean"].value - np.mean(SPECTRUM)) < 5 * found["mean_error"].value + 1e-9


def test_what_is_not_there_is_said():
    sgd, fresh = trainer("sgd"), trainer(steps=0)
    assert AdamSharpness(tokens=64).measure(None, view_of(sgd), rng())[0]["ratio"].status == "unsupported"
    assert AdamSharpness(tokens=64).measure(None, view_of(fresh), rng())[0]["ratio"].status == "missing"
    alone = ModelView(fresh.model, CORPUS, 0)
    for probe in STEPPED:
        found = probe.measure(None, alone, rng())[0]
        assert {one.status for name, one in found.items() if name != "products"} == {"missing"}
        assert found["products"].value == 0
    assert Sharpness(tokens=64).measure(None, alone, rng())[0]["ratio"].status == "missing"


def probed(use, dropout, steps, look):
    """Train with or without all probes at every few steps; return every bit that training depends on."""
    shape = attrs.evolve(PRESETS["tiny"], dropout=dropout, layers=1, width=16)
    settings = OptimizerSettings(use=use, lr=3e-3, warmup=5)
    made = Trainer(shape, settings, vocabulary=19, rows=4, total_steps=steps, seed=1)
    tokens = rng(1).integers(0, 19, (steps, 4, 33))
    for index in range(steps):
        made.step(tokens[index][:, :-1], tokens[index][:, 1:])
        if look and index % 5 == 0:
            for probe in [*SHARP, *STEPPED]:
                probe.measure(None, view_of(made), rng(index))
    model, kept, extra = made.state()
    return {**model, **kept, "random": torch.from_numpy(extra["rng_cpu"])}


@pytest.mark.parametrize("steps", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("use", ["adamw", "muon", "sgd"])
def test_training_with_all_curvature_probes_is_bit_for_bit_that_without(use, dropout, steps):
    without, with_ = probed(use, dropout, steps, False), probed(use, dropout, steps, True)

    assert without.keys() == with_.keys()
    assert all(torch.equal(without[name], with_[name]) for name in without)

"""`andrea bench`: what it prints, and what its numbers are made of."""

import re

import pytest

from andrea_core.bench import Speed, flops_per_token, gemm_peak, measure
from andrea_core.cli import main
from andrea_core.cli.bench import shown
from andrea_core.errors import RunError
from andrea_core.model.settings import PRESETS
from andrea_core.model.trainer import Trainer
from andrea_core.scenario import load


def test_the_command_prints_speed_denominator_and_shares(tiny, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench", str(tiny), "--steps", "30", "--threads", "1", "--device", "cpu"])
    lines = capsys.readouterr().out.splitlines()

    assert ended.value.code == 0
    assert [line.split()[0] for line in lines] == ["steps", "tokens/s", "MFU", "time"]
    assert "float32 matrix products measured here" in lines[2]
    shares = [float(share) for share in re.findall(r"([\d.]+) %", lines[3])]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(100, abs=0.1)


def test_without_a_scenario_it_measures_one_of_its_own(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ANDREA_CACHE", str(tmp_path))  # put back afterwards: the command sets its own
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--set", "model.preset=tiny", "--set", "sampler.rows=2", "--steps", "60", "--device", "cpu"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("steps      40\n")


def untrained(self, *_):
    raise AssertionError("a step was taken")


@pytest.mark.parametrize("steps", [1, 19, 20])
def test_one_phase_alone_is_refused_before_the_first_step_with_the_smallest_number(tiny, tmp_path, monkeypatch, steps):
    monkeypatch.setattr(Trainer, "step", untrained)
    scenario = load(tiny, settings=["phases={ use = 'fixed', steps = 20 }", "curriculum={ use = 'static' }"])
    with pytest.raises(RunError, match=f"--steps must be at least 21, got {steps}: the first phase, 20 steps, only"):
        measure(scenario, tmp_path / "run", steps, device="cpu", threads=1)


def test_a_run_of_one_phase_is_refused_before_the_first_step(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "step", untrained)
    scenario = load(
        tiny, settings=["run.steps=20", "phases={ use = 'fixed', steps = 20 }", "curriculum={ use = 'static' }"]
    )
    with pytest.raises(RunError, match=r"the run's 20 steps are a single phase, which only warms up; set run.steps"):
        measure(scenario, tmp_path / "run", 100, device="cpu", threads=1)


def test_the_smallest_number_that_is_named_is_allowed(tiny, tmp_path):
    scenario = load(tiny)
    with pytest.raises(RunError, match="--steps must be at least") as refused:
        measure(scenario, tmp_path / "few", 1, device="cpu", threads=1)
    least = int(re.search(r"at least (\d+)", str(refused.value))[1])

    assert measure(scenario, tmp_path / "run", least, device="cpu", threads=1).steps > 0


def test_operations_are_those_of_every_product_forward_and_twice_backward():
    shape = PRESETS["laptop"]
    products = shape.layers * (12 * shape.width**2 + 2 * shape.width * shape.context) + 257 * shape.width

    assert flops_per_token(shape, 257) == 6 * products


def test_an_unknown_peak_is_said_instead_of_a_share():
    speed = Speed(10, 100.0, 90.0, {"model": 1.0}, 10, None, "no peak is known for abacus")

    assert speed.utilisation is None
    assert "MFU        no peak is known for abacus" in shown(speed)
    assert gemm_peak(64, 2) > 0

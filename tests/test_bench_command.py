"""`andrea bench`: what it prints, and what its numbers are made of."""

import re

import pytest

from andrea_core.bench import Speed, flops_per_token, gemm_peak, measure
from andrea_core.cli import main
from andrea_core.cli.bench import shown
from andrea_core.errors import RunError
from andrea_core.model.settings import PRESETS
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


def test_one_phase_alone_is_refused(tiny, tmp_path):
    with pytest.raises(RunError, match="1 steps are a single phase; measure more with --steps"):
        measure(load(tiny), tmp_path / "run", 1, device="cpu", threads=1)


def test_operations_are_those_of_every_product_forward_and_twice_backward():
    shape = PRESETS["laptop"]
    products = shape.layers * (12 * shape.width**2 + 2 * shape.width * shape.context) + 257 * shape.width

    assert flops_per_token(shape, 257) == 6 * products


def test_an_unknown_peak_is_said_instead_of_a_share():
    speed = Speed(10, 100.0, 90.0, {"model": 1.0}, 10, None, "no peak is known for abacus")

    assert speed.utilisation is None
    assert "MFU        no peak is known for abacus" in shown(speed)
    assert gemm_peak(64, 2) > 0

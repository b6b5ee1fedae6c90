"""The memory of a run: said before the start, and a run that will not fit is refused with the numbers."""

import re

import pytest

from andrea_core.cli import main
from andrea_core.model import memory
from andrea_core.model.memory import predicted
from andrea_core.scenario import load


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


def memory_lines(capfd, *arguments):
    code, out, err = call(capfd, "show", *arguments)
    assert code == 0, err
    at = next(index for index, line in enumerate(out.splitlines()) if line.startswith("# memory of a step"))
    return out.splitlines()[at : at + 2]


def test_show_says_what_a_step_takes_and_what_is_held_beside_it(tiny, capfd):
    scenario = load(tiny).scenario
    wanted = predicted(scenario.model.resolve(), scenario.optimizer, 257, scenario.sampler.rows)
    first, second = memory_lines(capfd, tiny)

    assert first == f"# memory of a step, predicted: {wanted}"
    assert all(word in first for word in ("weights", "gradients", "optimiser", "activations", "logits"))
    assert re.search(r"batch \d+ KiB, checkpoint buffers \d\.\d MiB; \d+\.\d [GM]iB are free here$", second)


def test_a_phases_beginning_is_counted_where_it_is_kept_and_in_the_buffers(tiny, capfd):
    first, second = memory_lines(capfd, tiny)
    back, buffers = memory_lines(capfd, tiny, "--set", "optimizer.spike.action=rewind")
    one, two = (float(re.search(r"buffers (\S+) MiB", line)[1]) for line in (second, buffers))

    assert "rewind" not in first
    assert f"rewind {one} MiB" in back
    assert two == pytest.approx(2 * one, abs=0.1)


def test_a_finished_run_shows_it_too(tiny, tmp_path, capfd):
    assert call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")[0] == 0

    assert memory_lines(capfd, tmp_path / "run")[0] == memory_lines(capfd, tiny)[0]


def test_a_run_that_will_not_fit_is_refused_before_its_folder_is_made(tiny, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    code, _, err = call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")

    assert code == 2
    assert re.search(r"would take about \d+\.\d MiB \(weights .*\), and this machine has 1\.0 MiB free; choose", err)
    assert not (tmp_path / "run").exists()

"""What a run says of its speed counts what this process trained, and only that; the clock is the test's own."""

import itertools
import math

import pytest

from andrea_core import stopwatch
from andrea_core.assembly import new_run, resumed_run
from andrea_core.cli.console import speed
from andrea_core.experiment import Interrupted
from andrea_core.progress import Progress
from andrea_core.scenario import load

PHASE = 20
SETTINGS = (f"phases={{ use = 'fixed', steps = {PHASE} }}", "curriculum={ use = 'static' }", "probes=[]")


class Heard(Progress):
    """Keeps the reports, and asks a run to stop after a step."""

    def __init__(self, stop=None):
        self.reports, self.stop, self.ask = [], stop, None

    def stepped(self, step):
        if step == self.stop:
            self.ask(15)

    def phase_done(self, report):
        self.reports.append(report)


@pytest.fixture
def seconds(monkeypatch):
    """Every stretch of the loop takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: float(next(ticks)))


def stopped(scenario, out, step):
    heard = Heard(step)
    experiment = new_run(load(scenario, settings=SETTINGS), out, heard, device="cpu", threads=1)
    heard.ask = experiment.ask_to_stop
    with pytest.raises(Interrupted):
        experiment.run()
    experiment.folder.release()


def resumed(out):
    heard = Heard()
    experiment, step = resumed_run(out, heard)
    experiment.run(step)
    experiment.folder.release()
    return heard.reports, experiment.record.tokens_per_step


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize("taken", [1, PHASE - 1])
def test_a_resume_counts_no_step_that_it_did_not_take(tiny, tmp_path, taken):
    stopped(tiny, tmp_path / "run", PHASE - taken)
    (first, *rest), tokens = resumed(tmp_path / "run")

    assert tokens / 9 < first.tokens_per_second < tokens / 2  # a step's batch and a step take a second each
    assert all(tokens / 9 < report.tokens_per_second < tokens / 2 for report in rest)
    assert first.seconds_left == pytest.approx((first.total - PHASE) * tokens / first.tokens_per_second)


@pytest.mark.usefixtures("seconds")
def test_a_resume_at_the_last_step_of_a_phase_says_no_speed_before_it_has_one(tiny, tmp_path):
    stopped(tiny, tmp_path / "run", PHASE)
    (first, second), _ = resumed(tmp_path / "run")

    assert math.isnan(first.tokens_per_second)
    assert speed(first) == ""
    assert speed(second).endswith("tok/s  0:00 left  ")

"""A run's own policy comes to its own weights, whatever became of the run: stopped, killed, resumed."""

import os
import shutil
import signal

import pytest

from andrea_core.assembly import new_run, resumed_run
from andrea_core.experiment import Interrupted
from andrea_core.progress import Progress
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.replay.asked import own_scenario
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

SHORT = ("run.steps=24", "curriculum.stages[0].until=5", "curriculum.stages[1].until=13")


def finish(experiment, step=None):
    try:
        return experiment.run(step)
    finally:
        experiment.folder.release()


def verdict(folder):
    recorded = Recorded.of(open_run(folder))
    return verdict_of(recorded, replayed(own_scenario(folder), recorded, own=True))


def test_a_finished_run_is_reproduced_without_its_text(tiny, tmp_path, run):
    shutil.rmtree(tmp_path / "text")
    shutil.rmtree(run / "checkpoints")
    found = verdict(run)

    assert found.first is None
    assert (found.phases, found.differing, found.largest) == (open_run(run).phases.rows, 0, 0.0)


def test_a_run_that_was_stopped_inside_a_phase_is_reproduced_then_and_after_its_resumes(tiny, tmp_path):
    class Stop(Progress):
        def stepped(self, step):
            if step in (8, 15):
                self.experiment.ask_to_stop(signal.SIGINT)

    for step in (8, 15, 24):
        progress = Stop()
        if step == 8:
            made = load(tiny, settings=SHORT)
            experiment, at = new_run(made, tmp_path / "run", progress, device="cpu", threads=1), None
        else:
            experiment, at = resumed_run(tmp_path / "run", progress)
        progress.experiment = experiment
        if step == 24:
            finish(experiment, at)
        else:
            with pytest.raises(Interrupted):
                finish(experiment, at)
        done = open_run(tmp_path / "run").phases["steps"].sum()
        assert done == 24 if step == 24 else done < step

        found = verdict(tmp_path / "run")
        assert found.first is None
        assert found.phases == open_run(tmp_path / "run").phases.rows


def test_a_killed_run_is_reproduced_as_far_as_its_record_reaches(start, tmp_path):
    child = os.fork()
    if child == 0:
        try:
            experiment = start(tmp_path / "run", "run.checkpoint_every=6")
            inner = experiment.trainer.step

            def step_then_die(*batch):
                if experiment.trainer.steps_done == 17:
                    experiment.saver.writer.wait()
                    os.kill(os.getpid(), signal.SIGKILL)
                inner(*batch)

            experiment.trainer.step = step_then_die
            experiment.run()
        finally:
            os._exit(7)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL

    found = verdict(tmp_path / "run")
    assert found.first is None
    assert found.phases == open_run(tmp_path / "run").phases.rows > 0


def test_a_run_that_a_probe_stopped_and_that_went_on_is_reproduced(start, tmp_path, needy):
    probes = 'probes=[{use="stopper", at=9, every=4, at_end=true}, {use="heldout", tokens=32, at_end=true}]'
    findings = finish(start(tmp_path / "run", probes, plugins=[needy]))
    assert findings.stop == "stopper: enough"
    assert verdict(tmp_path / "run").first is None

    experiment, step = resumed_run(tmp_path / "run", Progress())
    finish(experiment, step)
    found = verdict(tmp_path / "run")
    assert found.first is None
    assert found.phases > 2


def test_a_curriculum_that_reacts_to_a_probe_is_reproduced(tiny, tmp_path):
    curriculum = (
        'curriculum={use="reactive", stages=[{name="first", sources=["birds", "ships"], at_most=20, '
        'probe={name="heldout", measurement="bits_per_byte", below=7.6, looks=2, sources=["birds"]}}, '
        '{name="rest"}]}'
    )
    settings = [curriculum, 'probes=[{use="heldout", tokens=64, every=3}]', "run.steps=24"]
    experiment = new_run(load(tiny, settings=settings), tmp_path / "run", Progress(), device="cpu", threads=1)
    finish(experiment)
    stages = open_run(tmp_path / "run").phases.decoded("stage")

    assert set(stages) == {"first", "rest"}
    assert verdict(tmp_path / "run").first is None
    shutil.rmtree(tmp_path / "run" / "run.zarr" / "eval")  # without what the probe found, the border is elsewhere
    assert verdict(tmp_path / "run").first.array == "stage"


def test_multinomial_draws_are_reproduced(start, tmp_path):
    finish(start(tmp_path / "run", "sampler.draw=multinomial"))

    assert verdict(tmp_path / "run").first is None

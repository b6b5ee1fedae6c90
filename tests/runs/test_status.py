"""How a run stands, as `andrea show` says it: each way in which a run can stand is told apart from the others."""

import re
import signal

import pytest

from andrea_core.cli import main
from andrea_core.experiment import Interrupted
from andrea_core.runs.status import status_of


def torn(path):
    """A file with half of it gone."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_finished_run_says_so_and_show_prints_it(run, capfd):
    with pytest.raises(SystemExit) as ended:
        main(["show", str(run)])

    assert ended.value.code in (None, 0)
    assert "\n# status finished: 24 of 24 steps; the last checkpoint is of step 24 of 24\n" in capfd.readouterr().out


def test_a_run_is_running_while_it_is_held_and_stopped_after(start, tmp_path):
    experiment, found = start(tmp_path / "run"), []

    def stepped(step):
        if step == 16:
            experiment.saver.writer.wait()
            found.append(status_of(tmp_path / "run", 24))
            experiment.ask_to_stop(signal.SIGTERM)

    experiment.progress.stepped = stepped
    with pytest.raises(Interrupted):
        experiment.run()
    experiment.folder.release()

    assert found == ["running: the last checkpoint is of step 14 of 24"]
    resume = f"`andrea resume {tmp_path / 'run'}` goes on from there"
    assert status_of(tmp_path / "run", 24) == f"stopped: the last checkpoint is of step 16 of 24; {resume}"


def test_a_probe_that_stops_a_run_finishes_it_early(start, tmp_path, needy):
    experiment = start(tmp_path / "run", "probes=[{ use = 'stopper', at = 9, every = 1 }]", plugins=[needy])
    experiment.run()
    experiment.folder.release()

    assert re.match(
        r"finished early: a probe stopped it at step (\d+) of 24; the last", status_of(tmp_path / "run", 24)
    )


def test_what_is_damaged_is_named(run):
    torn(run / "checkpoints/step_0000024/model.safetensors")
    words = status_of(run, 24)
    assert words.startswith("finished: 24 of 24 steps; the last checkpoint is of step 21 of 24; newer but damaged: ")
    assert "model.safetensors" in words

    for path in run.glob("checkpoints/step_*/model.safetensors"):
        torn(path)
    assert status_of(run, 24).startswith("damaged: no checkpoint is whole; ")


@pytest.mark.parametrize("name", ["run.json", "scenario.toml", "run.zarr/zarr.json"])
def test_a_damaged_file_is_named(run, name):
    torn(run / name)
    words = status_of(run, 24)

    assert words.startswith("damaged: ")
    assert name.partition("/")[0] in words
    assert words.endswith("the last checkpoint is of step 24 of 24")


def test_a_run_without_a_checkpoint_has_not_begun(start, tmp_path):
    start(tmp_path / "run").folder.release()

    assert status_of(tmp_path / "run", 24).startswith("stopped: before its first checkpoint; start over with `andrea ")

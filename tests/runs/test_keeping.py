"""Which checkpoints stay: the first, the newest, every n-th, the best; and what a listing says of them."""

import re

import pytest
import torch

from andrea_core.cli import main
from andrea_core.errors import ScenarioError
from andrea_core.runs.checkpoint import Checkpoint, CheckpointFolder
from andrea_core.runs.keeping import Keep
from andrea_core.runs.store import open_run
from andrea_core.scenario import load


def saved(folder, keep, scores):
    """The folder after a checkpoint of each step, of a model with this held-out loss (or none), was saved."""
    checkpoints = CheckpointFolder(folder)
    for step, score in scores.items():
        model = {"w": torch.full((3,), float(step))}
        checkpoints.save(Checkpoint(step, model, {}, {}, {"state": step}, score), keep)
    return checkpoints


LOSSES = {0: 8.0, 10: None, 20: 3.0, 30: 2.5, 40: None, 50: 2.75, 60: None, 70: None}


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (Keep(2), [0, 60, 70]),
        (Keep(1, every=20), [0, 20, 40, 60, 70]),
        (Keep(2, best=True), [0, 30, 60, 70]),
        (Keep(2, every=50, best=True), [0, 30, 50, 60, 70]),
        (Keep(2, first=20), [20, 60, 70]),
    ],
    ids=str,
)
def test_what_is_kept(tmp_path, keep, left):
    checkpoints = saved(tmp_path, keep, LOSSES)

    assert checkpoints.steps() == left
    assert CheckpointFolder(tmp_path).steps() == left
    assert all(checkpoints.reasons(keep).values())


def test_each_says_why(tmp_path):
    keep = Keep(2, every=50, best=True)
    why = saved(tmp_path, keep, LOSSES).reasons(keep)

    assert why == {
        0: ("first",),
        30: ("best: held-out 2.5000 bits a byte",),
        50: ("every 50 steps",),
        60: ("recent",),
        70: ("recent",),
    }


def test_the_best_that_is_damaged_is_the_best_no_more(tmp_path):
    keep = Keep(2, best=True)
    saved(tmp_path, keep, LOSSES)
    (tmp_path / "step_0000030/model.safetensors").write_bytes(b"")
    later = CheckpointFolder(tmp_path)

    assert later.reasons(keep)[30] == ()
    assert later.best() == 8.0


def test_keep_best_without_held_out_loss_is_refused_with_the_remedy(tiny):
    with pytest.raises(ScenarioError, match=r'run\.keep_best: needs a probe .* use = "heldout"'):
        load(tiny, settings=["run.keep_best=true", "probes=[]"])

    assert load(tiny, settings=["run.keep_best=true"]).scenario.run.keep_best


def test_show_lists_a_runs_checkpoints_with_size_reason_and_times(run, capfd):
    with pytest.raises(SystemExit) as ended:
        main(["show", str(run)])
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("# checkpoint")]

    assert ended.value.code in (None, 0)
    assert [line.split(":")[0] for line in lines] == [f"# checkpoint {step}" for step in (0, 7, 14, 21, 24)]
    form = r"# checkpoint \d+: \d\.\d MB, (first, )?recent; the loop waited [\d.]+ ms, written in [\d.]+ s"
    assert all(re.fullmatch(form, line) for line in lines)


def test_without_the_times_the_listing_goes_without_them(run, capfd):
    (run / "checkpoints.json").write_text("torn", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["show", str(run)])

    assert "# checkpoint 24: 0.5 MB, recent\n" in capfd.readouterr().out


def test_the_best_model_is_saved_when_it_is_found_and_stays(start, tmp_path):
    experiment = start(tmp_path / "run", "run.keep_best=true", "run.keep_checkpoints=1", "run.checkpoint_every=100")
    experiment.run()
    experiment.folder.release()
    evals, checkpoints = open_run(tmp_path / "run").evals, CheckpointFolder(tmp_path / "run/checkpoints")
    means = evals["bits_per_byte"].mean(1)

    assert checkpoints.best() == pytest.approx(means.min())
    assert int(evals["step"][means.argmin()]) in checkpoints.steps()
    assert checkpoints.steps() == sorted({0, 24, int(evals["step"][means.argmin()])})

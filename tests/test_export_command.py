"""`andrea export` and `model.init_from`: out of a run, into another."""

import json

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.cli import main
from andrea_core.runs.trained import trained_model


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


@pytest.fixture
def exported(tiny, tmp_path, capfd):
    assert call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")[0] == 0
    code, out, err = call(capfd, "export", tmp_path / "run", "--to", "hf")
    assert code == 0, err
    return tmp_path / "run-hf", out


def test_an_export_is_a_folder_of_five_files_beside_the_run(exported):
    folder, out = exported

    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert str(folder) in out
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["GPT2LMHeadModel"]


def test_an_existing_folder_is_not_written_over(exported, tmp_path, capfd):
    code, _, err = call(capfd, "export", tmp_path / "run")

    assert code == 2
    assert "exists already; name a folder that does not, with --out" in err


def test_a_run_can_start_from_an_export(exported, tiny, tmp_path, capfd):
    folder, _ = exported
    wanted = {name: tensor.clone() for name, tensor in trained_model(tmp_path / "run")[0].state_dict().items()}
    settings = ("--set", f"model.init_from={folder}", "--out", tmp_path / "next", "--threads", 1, "--device", "cpu")
    code, _, err = call(capfd, "run", tiny, *settings)
    assert code == 0, err

    start = trained_model(tmp_path / "next", 0)[0].state_dict()
    assert all((start[name] == tensor).all() for name, tensor in wanted.items())
    first, fresh = (np.asarray(open_run(tmp_path / name).steps["loss"])[0] for name in ("next", "run"))
    assert first < fresh - 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("model.init_from=nowhere",), "model.init_from: "),
        (("model.init_from=EXPORT", "model.layers=3"), "the scenario's model 3; set it alike"),
        (('model.init_from=""',), "init_from must name a file or folder"),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_a_folder_is_made(
    exported, tiny, tmp_path, capfd, settings, message
):
    chosen = [word for one in settings for word in ("--set", one.replace("EXPORT", str(exported[0])))]
    code, _, err = call(capfd, "run", tiny, *chosen, "--out", tmp_path / "other")

    assert code == 2
    assert message in err
    assert not (tmp_path / "other").exists()


def test_a_damaged_newest_checkpoint_is_passed_over_aloud_and_named_when_it_was_the_last(exported, tmp_path, capfd):
    checkpoints = sorted((tmp_path / "run" / "checkpoints").glob("step_*"))
    assert len(checkpoints) > 1
    (checkpoints[-1] / "manifest.json").unlink()
    code, _, err = call(capfd, "export", tmp_path / "run", "--out", tmp_path / "again")
    assert code == 0
    assert "passed over: " in err
    assert checkpoints[-1].name in err

    for one in checkpoints[:-1]:
        (one / "manifest.json").unlink()
    code, _, err = call(capfd, "export", tmp_path / "run", "--out", tmp_path / "never")
    assert code == 2
    assert "has no valid checkpoint: " in err
    assert "manifest.json" in err

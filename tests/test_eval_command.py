"""`andrea eval`: held-out text of the sources, and any text file."""

import json
import math

import numpy as np
import pytest
import torch

from andrea_core import open_run
from andrea_core.cli import main
from andrea_core.runs.evaluation import losses_of
from andrea_core.runs.trained import trained_model


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


@pytest.fixture
def run(tiny, tmp_path, capfd):
    assert call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")[0] == 0
    return tmp_path / "run"


def test_the_scores_are_those_that_the_run_recorded(run, capfd):
    code, out, _ = call(capfd, "eval", run, "--json", "--tokens", 64)
    found = json.loads(out)
    recorded = np.asarray(open_run(run).evals["bits_per_byte"])[-1]

    assert code == 0
    assert found["step"] == 40
    assert [one["name"] for one in found["scores"]] == ["birds", "clocks", "ships"]
    np.testing.assert_allclose([one["bits_per_byte"] for one in found["scores"]], recorded, rtol=1e-6)


def test_an_early_checkpoint_predicts_worse(run, capfd):
    first, last = (json.loads(call(capfd, "eval", run, "--json", "--at", step)[1]) for step in (0, 40))

    assert all(a["nats"] > b["nats"] for a, b in zip(first["scores"], last["scores"], strict=True))
    assert first["scores"][0]["nats"] == pytest.approx(math.log(257), rel=0.02)


def test_the_table_names_every_source_and_their_mean(run, capfd):
    _, out, _ = call(capfd, "eval", run)

    assert out.splitlines()[0] == "step 40"
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["birds", "clocks", "ships", "mean"]


@pytest.mark.parametrize("size", [1, 31, 32, 33, 100])
def test_every_token_of_a_text_is_predicted_once(run, size):
    model, tokenizer = trained_model(run)
    tokens = np.concatenate([[tokenizer.separator], np.random.default_rng(0).integers(0, 256, size)])
    losses = losses_of(model, tokens)

    assert losses.shape == (size,)
    context = model.shape.context
    for place in {0, size // 2, size - 1}:
        start = place // context * context
        with torch.no_grad():
            logits = model(torch.tensor(tokens[None, start : place + 1]))[0, -1].double()
        assert losses[place] == pytest.approx(float(logits.logsumexp(0) - logits[tokens[place + 1]]), rel=1e-4)


def test_a_text_file_is_scored_whole(run, capfd, tmp_path):
    text = tmp_path / "note.txt"
    text.write_text("The birds sang and the clocks stood still; größer.", encoding="utf-8")
    code, out, _ = call(capfd, "eval", run, "--text", text, "--json")
    (score,) = json.loads(out)["scores"]

    assert code == 0
    assert score["tokens"] == score["bytes"] == len(text.read_bytes())
    assert score["bits_per_byte"] == pytest.approx(score["nats"] / math.log(2))


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty; there is nothing"), (b"\xff\xfe", "as UTF-8 text")])
def test_a_file_that_is_no_text_is_named(run, capfd, tmp_path, content, message):
    (tmp_path / "bad.txt").write_bytes(content)
    code, _, err = call(capfd, "eval", run, "--text", tmp_path / "bad.txt")

    assert code == 2
    assert "bad.txt" in err
    assert message in err


def test_text_that_changed_since_the_run_is_refused(run, capfd, tmp_path):
    for file in (tmp_path / "text").rglob("*"):
        if file.is_file() and "birds" in str(file):
            file.write_text(file.read_text(encoding="utf-8") + "\n\nOne more bird.", encoding="utf-8")
    code, _, err = call(capfd, "eval", run)

    assert code == 2
    assert "the text of source 'birds' is not what the run was trained on" in err

"""Constraint sets and adjustments that change over a run: what the loop records under each, with a tiny model."""

import numpy as np
import pytest
import zarr

from andrea_core import InfeasibleRegion, total_variation
from andrea_core.assembly import new_run, resumed_run
from andrea_core.cli.show import outlook
from andrea_core.data.corpus import find_epochs, prepare
from andrea_core.plan import Plan
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load

ONE_STAGE = 'curriculum = { use = "static" }\n'
ANNEAL = """
constraints = [{ use = "anneal", start = 10, steps = 20, before = { floors = { birds = 0.1 } }, after = { floors = { birds = 0.8 }, caps = { clocks = 0 } } }]
"""  # noqa: E501
MAX_CHANGE = """
policy = { use = "fixed", weights = { birds = 1 } }
constraints = [{ use = "max_change", delta = 0.05 }]
"""
TRUST = '\nadjusts = [{ use = "trust_region", delta = 0.04 }]\n'
EPOCHS = """
run = { steps = 60, checkpoint_every = 10, keep_checkpoints = 100 }
phases = { use = "fixed", steps = 4 }
policy = { use = "fixed", weights = { birds = 0.8, clocks = 0.1, ships = 0.1 } }
constraints = [
  { use = "epoch_cap", epochs = 0.75, ON_CLASH },
  { use = "floors", floors = { birds = 0.7, ships = 0.05 } },
]
"""


def variant(tiny, text, name="variant"):
    """The tiny scenario with some keys replaced, all in one stage."""
    path = tiny.with_name(f"{name}.toml")
    path.write_text(f'extends = "tiny.toml"\n{ONE_STAGE}{text}', encoding="utf-8")
    return path


def train(scenario, out):
    experiment = new_run(load(scenario), out, Progress(), device="cpu", threads=1)
    try:
        experiment.run(None)
    finally:
        experiment.folder.release()
    return open_run(out)


def moves(run):
    weights = run.phases["weights"]
    return [total_variation(one, other) for one, other in zip(weights[1:], weights[:-1], strict=True)]


def test_anneal_moves_the_recorded_bounds_along_and_takes_the_source_out_at_the_end(tiny, tmp_path):
    run = train(variant(tiny, ANNEAL), tmp_path / "run")
    share = np.clip((run.phases["start"] - 10) / 20, 0, 1)

    assert run.phases["lower"][:, 0] == pytest.approx(0.1 + 0.7 * share, abs=1e-15)
    assert (run.phases["weights"] >= run.phases["lower"]).all()
    assert 0 < (share == 1).sum() < len(share)
    assert (run.phases["weights"][share == 1, 1] == 0).all()
    assert (run.phases["drawn"][share == 1, 1] == 0).all()
    assert "clocks is taken out: anneal of stage" in " ".join(run.events["text"])


def test_an_anneal_whose_end_is_impossible_is_found_before_anything_is_trained(tiny, tmp_path):
    impossible = ANNEAL.replace("birds = 0.8", "birds = 0.8, ships = 0.3")
    with pytest.raises(InfeasibleRegion, match=r"stage '\w+' \(from step 0, seen at step 39\) has no possible weights"):
        train(variant(tiny, impossible), tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_max_change_bounds_every_weights_move(tiny, tmp_path):
    run = train(variant(tiny, MAX_CHANGE), tmp_path / "run")
    steps = np.abs(np.diff(run.phases["weights"], axis=0))

    assert steps.max() == pytest.approx(0.05, abs=1e-15)
    assert steps[:5, 0] == pytest.approx(0.05, abs=1e-15)  # toward the wish, as far as the box goes, phase by phase


def test_trust_region_bounds_the_total_variation_of_every_move(tiny, tmp_path):
    run = train(variant(tiny, TRUST), tmp_path / "run")
    free = train(variant(tiny, "", "free"), tmp_path / "free")

    assert max(moves(run)) == pytest.approx(0.04, abs=1e-14)
    assert max(moves(free)) > 0.1


def epoch_run(tiny, tmp_path, on_clash="drop_floor"):
    text = EPOCHS.replace("ON_CLASH", f'on_clash = "{on_clash}"')
    return variant(tiny, text), tmp_path / "run"


def test_an_exhausted_source_is_never_drawn_again_and_the_dropped_floor_is_an_event(tiny, tmp_path):
    run = train(*epoch_run(tiny, tmp_path))
    trained = np.cumsum(run.phases["drawn"][:, 0]) * run.attributes["context"] / run.attributes["epoch_tokens"][0]
    spent = np.flatnonzero(trained >= 0.75)
    after = slice(spent[0] + 1, None)

    assert 0 < spent[0] < run.phases.rows - 1
    assert (run.phases["weights"][after, 0] == 0).all()
    assert (run.phases["drawn"][after, 0] == 0).all()
    assert (run.phases["weights"][: spent[0] + 1, 0] >= 0.7).all()
    kinds = list(run.events["kind"])
    assert kinds.count("source_out") == 1
    assert kinds.count("floor_dropped") == 1
    at = kinds.index("floor_dropped")
    assert "floor 0.7 of birds" in run.events["text"][at]
    assert run.events["step"][at] == run.phases["start"][spent[0] + 1]


def test_a_run_resumed_after_the_drop_is_the_same_run(tiny, tmp_path):
    scenario, out = epoch_run(tiny, tmp_path)
    straight = train(scenario, out)
    experiment, step = resumed_run_at(out, 50)
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()
    again = zarr.open_group(out / "run.zarr", mode="r")["phases/weights"][:]

    np.testing.assert_array_equal(again, straight.phases["weights"])


def resumed_run_at(out, step):
    """The run as its checkpoint at or before a step left it: later ones are taken away."""
    for folder in sorted((out / "checkpoints").iterdir()):
        if folder.is_dir() and int(folder.name.split("_")[1]) > step:
            (folder / "manifest.json").unlink()
    return resumed_run(out, Progress())


def test_a_clash_that_is_to_stop_the_run_stops_it_and_leaves_a_good_checkpoint(tiny, tmp_path):
    scenario, out = epoch_run(tiny, tmp_path, "stop")
    with pytest.raises(InfeasibleRegion, match=r"epoch_cap clashes with the floor 0\.7 of birds"):
        train(scenario, out)
    experiment, step = resumed_run(out, Progress())
    experiment.folder.release()

    assert step > 0


def test_show_predicts_the_clash_once_the_text_is_there(tiny, tmp_path):
    loaded = load(epoch_run(tiny, tmp_path)[0])
    before = "\n".join(outlook(loaded, Plan.of(loaded)))
    assert "epochs cannot be predicted before the text is built" in before

    scenario = loaded.scenario
    corpus = prepare(scenario.sources, scenario.tokenizer)
    birds = next(source for source in corpus.sources if source.name == "birds")
    epoch = len(birds.train.tokens) + len(birds.train)
    implied = 0.7 * 60 * scenario.sampler.rows * scenario.model.resolve().context / epoch
    said = "\n".join(outlook(loaded, Plan.of(loaded)))

    assert find_epochs(scenario.sources, scenario.tokenizer)["birds"] == epoch
    assert f"the floors of birds alone imply {implied:.3g} epochs of it, the epoch cap is 0.75" in said
    assert "floors of ships" not in said


def test_show_says_when_the_text_is_missing(tiny, tmp_path):
    loaded = load(epoch_run(tiny, tmp_path)[0])
    for file in (tmp_path / "text").glob("birds-*"):
        file.unlink()

    assert "epochs cannot be predicted: " in "\n".join(outlook(loaded, Plan.of(loaded)))

"""Forks: a new run from another one's checkpoint, with a parent link, its own scenario, and everything else carried."""

import json

import numpy as np
import pytest
import torch
from cut_runs import assert_same_record, killed_run, record

from andrea_core.assembly import new_run, resumed_run
from andrea_core.cli import main
from andrea_core.cli.fork import run_and_step
from andrea_core.errors import AndreaError, RunError, ScenarioError
from andrea_core.forking import forked_run
from andrea_core.progress import Progress
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.store import open_run
from andrea_core.scenario import load, load_resolved

POLISH = ('constraints=[{use="caps",caps={birds=0.7}}]', "run.steps=44")


def finish(experiment, step=None):
    try:
        experiment.run(step)
    finally:
        experiment.folder.release()


@pytest.fixture
def parent(tiny, tmp_path):
    out = tmp_path / "parent"
    finish(new_run(load(tiny), out, Progress(), device="cpu", threads=1))
    return out


def fork(parent, step, tiny, out, settings=POLISH, **options):
    return forked_run(parent, step, load(tiny, settings=settings, **options), out, Progress(), device="cpu", threads=1)


def forked(*arguments, **options):
    experiment, _ = fork(*arguments, **options)
    finish(experiment)
    return open_run(experiment.folder.path)


@pytest.mark.parametrize("step", [14, 28, 35])
def test_under_the_same_scenario_from_a_border_or_a_phase_it_has_the_parents_past(parent, tiny, tmp_path, step):
    run, old = forked(parent, step, tiny, tmp_path / "fork", ()), open_run(parent)

    assert run.steps.rows == 40
    assert run.steps["loss"][:step].tobytes() == old.steps["loss"][:step].tobytes()
    assert run.phases["trained"].sum(1).tolist() == (run.phases["steps"] * 4 * 32).tolist()
    assert step in (run.phases["start"] + run.phases["steps"])
    assert run.phases["drawn"].sum(0) + 0.0 == pytest.approx(
        (run.phases["weights"] * run.phases["steps"][:, None] * 4).sum(0), abs=3
    )


def test_from_the_end_of_a_phase_the_same_scenario_comes_to_the_parents_bits(parent, tiny, tmp_path):
    """Checkpoint 0 is at a border, so that nothing is cut: the fork is the parent over again."""
    run = forked(parent, 0, tiny, tmp_path / "fork", ())
    old, new = record(parent), record(run.folder)
    for name in ("kind", "step", "text"):
        kept = [i for i, kind in enumerate(record(run.folder)["events/kind"]) if kind != "fork"]
        new[f"events/{name}"] = [new[f"events/{name}"][i] for i in kept]

    assert_same_record(old, new)


def test_model_optimiser_positions_and_states_go_on_under_other_constraints(parent, tiny, tmp_path):
    experiment, step = fork(parent, 21, tiny, tmp_path / "fork")
    straight, at = resumed_run(parent, Progress())
    saved = straight.folder.checkpoints.load(21)
    experiment.folder.release()
    straight.folder.release()
    model, optimizer, _ = experiment.trainer.state()

    assert (step, at, experiment.state.step) == (21, 40, 21)
    assert all(torch.equal(model[name], saved.model[name]) for name in model)
    assert all(torch.equal(optimizer[name], saved.optimizer[name]) for name in optimizer)
    assert experiment.state.sampler.position.sum() == 21 * 4
    assert experiment.state.trained.sum() == 21 * 4 * 32
    assert experiment.state.policy is not None
    link = json.loads((tmp_path / "fork/run.json").read_text(encoding="utf-8"))["parent"]
    assert (link["name"], link["step"], link["path"]) == ("tiny", 21, str(parent.resolve()))
    assert link["digest"] == load(tiny).digest


def test_its_own_constraints_hold_from_its_first_step_and_the_event_says_where_it_came_from(parent, tiny, tmp_path):
    run = forked(parent, 21, tiny, tmp_path / "fork")
    starts, birds = run.phases["start"], run.phases["weights"][:, 0]

    assert (birds[starts >= 21] <= 0.7).all()
    assert birds[starts < 21].max() > 0.7
    assert [str(t) for k, t in zip(run.events["kind"], run.events["text"], strict=True) if k == "fork"] == [
        "goes on from step 21 of the run 'tiny'"
    ]
    assert run.attributes["stages"][-1] == {"name": "polish", "start": 26, "until": 44}


def test_a_killed_fork_resumes_bit_for_bit_and_replays(parent, tiny, tmp_path):
    straight, out = forked(parent, 21, tiny, tmp_path / "straight"), tmp_path / "killed"
    killed_run(lambda: (fork(parent, 21, tiny, out)[0], None), 30)
    killed_run(lambda: resumed_run(out, Progress()), 37)
    finish(*resumed_run(out, Progress()))

    assert_same_record(record(straight.folder), record(out))
    recorded = Recorded.of(open_run(out))
    verdict = verdict_of(recorded, replayed(load_resolved(out / "scenario.toml"), recorded, own=True))
    assert verdict.first is None
    assert verdict.phases == int((recorded.phases["start"] >= 21).sum()) > 2


def test_its_first_checkpoint_stays(parent, tiny, tmp_path):
    forked(parent, 21, tiny, tmp_path / "fork", (*POLISH, "run.keep_checkpoints=1"))

    assert sorted(p.name[-2:] for p in (tmp_path / "fork/checkpoints").iterdir()) == ["21", "44"]


def test_another_policy_begins_afresh_and_the_event_says_so(parent, tiny, tmp_path):
    run = forked(parent, 21, tiny, tmp_path / "fork", ("policy={use='exp3'}", "reward={use='loss'}"))

    assert "afresh: policy exp3, reward loss" in " ".join(map(str, run.events["text"]))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ("model.width=64", "seed=9", "sampler.rows=8"),
            r"model\.width is 32 -> 64; sampler\.rows is 4 -> 8; seed.* 3 -> 9",
        ),
        (("optimizer.use=sgd",), r"optimizer\.use is adamw -> sgd"),
        (('sources.crows={use="text",files=["FOLDER/birds-*.txt"]}',), "the source 'crows' is new"),
        (('sources.birds.files=["FOLDER/ships-*.txt"]',), "the text of source 'birds' is not what .*fingerprint"),
    ],
)
def test_what_cannot_be_carried_is_refused_in_one_message_before_anything_is_made(
    parent, tiny, tmp_path, settings, words
):
    given = [setting.replace("FOLDER", str(tiny.parent / "text")) for setting in settings]
    with pytest.raises(RunError, match=words):
        fork(parent, 21, tiny, tmp_path / "fork", given)
    assert not (tmp_path / "fork").exists()


def test_a_step_without_checkpoint_and_a_scenario_that_is_over_are_refused(parent, tiny, tmp_path):
    with pytest.raises(RunError, match="no checkpoint of step 22; there is 0, 7, 14"):
        fork(parent, 22, tiny, tmp_path / "fork")
    with pytest.raises(ScenarioError, match=r"set run\.steps to more than 40"):
        fork(parent, None, tiny, tmp_path / "fork", ())
    with pytest.raises(AndreaError, match="no possible weights"):
        fork(parent, 21, tiny, tmp_path / "fork", ('constraints=[{use="floors",floors={clocks=0.9}}]',))


def test_a_changed_scenario_names_the_keys_and_offers_the_fork_which_goes_on(parent, tiny, tmp_path, capfd):
    path = parent / "scenario.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("lr = 0.01", "lr = 0.002"), encoding="utf-8")
    with pytest.raises(RunError, match=r"optimizer\.lr: 0\.01 -> 0\.002; undo the change.*andrea fork"):
        resumed_run(parent, Progress())
    with pytest.raises(SystemExit) as ended:
        main(["fork", f"{parent}@28", str(path), "--out", str(tmp_path / "fork"), "--threads", "1", "--device", "cpu"])

    assert ended.value.code in (None, 0), capfd.readouterr().err
    run = open_run(tmp_path / "fork")
    assert run.steps["lr"][-1] < 0.0021
    assert np.isclose(run.steps["lr"][20], 0.01, rtol=0.5)


def test_run_and_step_are_told_apart(tmp_path):
    (tmp_path / "a@5").mkdir()

    assert run_and_step("runs/x@21") == (run_and_step("runs/x")[0], 21)
    assert run_and_step(str(tmp_path / "a@5"))[1] is None
    assert run_and_step(f"{tmp_path}/a@5@7") == (tmp_path / "a@5", 7)


def test_a_changed_plugin_is_refused_with_both_digests_and_a_fork_starts_only_from_a_phases_end(tiny, tmp_path):
    plugin, out = tmp_path / "calm.py", tmp_path / "run"
    plugin.write_text(CALM, encoding="utf-8")
    options = {"settings": ("policy.use=calm", "probes=[]"), "plugins": [str(plugin)]}
    finish(new_run(load(tiny, **options), out, Progress(), device="cpu", threads=1))
    plugin.write_text(CALM.replace("nothing", "very little"), encoding="utf-8")

    with pytest.raises(RunError, match=r"the plugin calm .* has changed .*: \w{12} -> \w{12}; .*andrea fork"):
        resumed_run(out, Progress())
    inside = [step for step in (7, 14, 21, 28, 35) if step not in open_run(out).phases["start"]]
    with pytest.raises(RunError, match=r"lies inside a phase.*the plugin calm"):
        fork(out, inside[0], tiny, tmp_path / "no", **options)
    longer = {**options, "settings": (*options["settings"], "run.steps=44")}
    assert forked(out, 40, tiny, tmp_path / "fork", **longer).steps.rows == 44


CALM = '''
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Calm:
    """It does nothing."""
    needs = frozenset()
    def start(self, sources): return None
    def propose(self, state, moment, rng): return moment.region.centre
    def update(self, state, outcome): return None

@hookimpl
def andrea_policies(): return {"calm": Calm}
'''

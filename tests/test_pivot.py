"""Pivots: other constraints for a run under way, checked first, recorded, the same after a resume and in a replay."""

import re

import pytest
from cut_runs import assert_same_record, killed_run, record

from andrea_core.assembly import new_run, resumed_run
from andrea_core.cli import main
from andrea_core.errors import RunError
from andrea_core.pivots import Pivots, offer
from andrea_core.progress import Progress
from andrea_core.runs.replay import Recorded, replayed, verdict_of
from andrea_core.runs.store import open_run
from andrea_core.scenario import load, load_resolved

CAPPED = 'constraints = [{ use = "caps", caps = { birds = 0.7, ships = 0.35 } }]\n'


@pytest.fixture
def capped(tmp_path):
    path = tmp_path / "capped.toml"
    path.write_text(CAPPED, encoding="utf-8")
    return path


def begun(tiny, out):
    return new_run(load(tiny), out, Progress(), device="cpu", threads=1)


def pivoting(experiment, out, file, at):
    """Let somebody leave a file of constraints in the run's folder while step `at` is trained."""
    inner = experiment.trainer.step

    def step(inputs, targets):
        if experiment.trainer.steps_done == at:
            offer(out, file)
        inner(inputs, targets)

    experiment.trainer.step = step
    return experiment


@pytest.fixture
def pivoted(tiny, tmp_path, capped):
    """The folder of a finished run whose constraints were changed at the first border after step 27."""
    experiment = pivoting(begun(tiny, tmp_path / "run"), tmp_path / "run", capped, 27)
    experiment.run()
    experiment.folder.release()
    return tmp_path / "run"


def border(run):
    starts = open_run(run).phases["start"]
    return int(starts[starts > 27][0])


def test_it_is_taken_up_at_the_next_border_and_recorded(pivoted):
    run = open_run(pivoted)
    starts, upper = run.phases["start"], run.phases["upper"]
    events = [
        (int(s), t)
        for s, k, t in zip(run.events["step"], run.events["kind"], run.events["text"], strict=True)
        if k == "pivot"
    ]

    assert (upper[starts >= border(pivoted), 0] <= 0.7).all()
    assert (upper[starts < border(pivoted), 0] > 0.7).all()
    assert [step for step, _ in events] == [border(pivoted)]
    assert "constraints" in events[0][1]


def test_killed_at_the_border_and_after_it_it_comes_to_the_same_bits(pivoted, tiny, tmp_path, capped):
    step = border(pivoted)
    for first, second in ((step, step), (step, step + 1), (step + 1, 39)):
        out = tmp_path / f"killed-{first}-{second}"
        killed_run(lambda out=out: (pivoting(begun(tiny, out), out, capped, 27), None), first)
        killed_run(lambda out=out: resumed_run(out, Progress()), second)
        experiment, at = resumed_run(out, Progress())
        experiment.run(at)
        experiment.folder.release()

        assert Pivots.of(out, load(tiny)).taken()[1].step == step
        assert_same_record(record(pivoted), record(out))


def test_a_replay_honours_it(pivoted):
    recorded = Recorded.of(open_run(pivoted))
    verdict = verdict_of(recorded, replayed(load_resolved(pivoted / "scenario.toml"), recorded, own=True))

    assert (verdict.first, verdict.differing) == (None, 0)
    (pivoted / "pivots/taken.json").unlink()
    blind = verdict_of(recorded, replayed(load_resolved(pivoted / "scenario.toml"), recorded, own=True))
    assert blind.first is not None
    assert blind.first.step == border(pivoted)


def test_what_waits_while_a_phase_is_decided_again_waits_for_the_next_border(tiny, tmp_path, capped):
    out = tmp_path / "run"
    killed_run(lambda: (begun(tiny, out), None), 29, written=True)
    offer(out, capped)
    experiment, at = resumed_run(out, Progress())
    experiment.run(at)
    experiment.folder.release()
    run = open_run(out)

    assert at == 28
    assert at not in run.phases["start"]
    assert Pivots.of(out, load(tiny)).taken()[1].step == run.phases["start"][run.phases["start"] > at][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'constraints = [{ use = "floors", floors = { clocks = 0.5 } }]',
            r"wrong\.toml: constraints\[0\]\.floors\.clocks: stage 'polish' .*no possible weights",
        ),
        (
            'constraints = [{ use = "caps", caps = { birds = 1 } }, { use = "exclude", sources = ["birds", "ships"] }]',
            r"wrong\.toml: constraints\[1\]\.sources\.birds.*: stage 'polish' .*no possible weights",
        ),
        ('constraints = [{ use = "floors", floors = { clock = 0.5 } }]', "no source 'clock'.*did you mean 'clocks'"),
        ('constraints = [{ use = "flors" }]', "did you mean 'floors'"),
        ("seed = 5", "unknown key 'seed'.*andrea fork"),
        ("", "no constraints"),
        ("constraints = [", "not valid TOML"),
    ],
)
def test_what_cannot_be_is_refused_with_exit_code_2_and_the_run_is_untouched(tiny, tmp_path, capfd, text, words):
    out, file = tmp_path / "run", tmp_path / "wrong.toml"
    killed_run(lambda: (begun(tiny, out), None), 29)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main(["pivot", str(out), str(file)])

    assert stopped.value.code == 2
    assert re.search(words, capfd.readouterr().err, re.S)
    assert not (out / "pivots").exists()


def test_one_that_turns_out_infeasible_at_the_border_is_refused_and_the_run_goes_on(tiny, tmp_path):
    out, file = tmp_path / "run", tmp_path / "wrong.toml"
    experiment = begun(tiny, out)
    file.write_text('constraints = [{ use = "floors", floors = { clocks = 0.5 } }]', encoding="utf-8")
    (out / "pivots").mkdir()
    (out / "pivots/0001.toml").write_text(file.read_text(encoding="utf-8"), encoding="utf-8")  # past all checks
    experiment.run()
    experiment.folder.release()
    run = open_run(out)

    assert run.steps.rows == 40
    assert [str(k) for k in run.events["kind"]].count("pivot_refused") == 1


def test_a_complete_run_has_no_border_left(pivoted, capped, capfd):
    with pytest.raises(SystemExit) as stopped:
        main(["pivot", str(pivoted), str(capped)])

    assert stopped.value.code == 2
    assert "is complete" in capfd.readouterr().err


def test_a_pivot_says_what_it_changes_in_the_one_that_waits_before_it(tiny, tmp_path, capped):
    out, back = tmp_path / "run", tmp_path / "back.toml"
    killed_run(lambda: (begun(tiny, out), None), 29)
    back.write_text("constraints = []\n", encoding="utf-8")
    first, second, third = offer(out, capped), offer(out, back), offer(out, back)

    assert [number for number, _ in (first, second, third)] == [1, 2, 3]
    assert first[1] != "nothing"
    assert second[1].endswith("-> []"), second
    assert third[1] == "nothing"


@pytest.mark.parametrize("text", ['{"1": {"step": 1e999, "refused": null}}', "[" * 100_000, "[]", '{"x": 1}'])
def test_a_note_of_pivots_that_cannot_be_read_is_named(tiny, tmp_path, text):
    (tmp_path / "pivots").mkdir()
    (tmp_path / "pivots/taken.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=r"taken\.json is damaged"):
        Pivots.of(tmp_path, load(tiny)).taken()


def test_files_that_are_no_pivots_by_their_names_are_left_alone(tiny, tmp_path):
    (tmp_path / "pivots").mkdir()
    for name in ("0001", "²²", "3", "x", "00004"):
        (tmp_path / f"pivots/{name}.toml").touch()

    assert Pivots.of(tmp_path, load(tiny)).numbers() == [1]

"""What can be run and may be a mistake is said before it is trained, by `show` and by `run`."""

import pytest

from andrea_core.cautions import cautions
from andrea_core.cli import main
from andrea_core.plan import Plan
from andrea_core.scenario import load


def said(tiny, *settings):
    loaded = load(tiny, settings=settings)
    return cautions(loaded, Plan.of(loaded))


def test_a_warm_up_that_outlasts_the_run(tiny):
    assert said(tiny, "run.steps=40", "optimizer.warmup=40")[0].startswith(
        "optimizer.warmup is 40 steps and the run 40"
    )
    assert not any("warmup" in text for text in said(tiny, "run.steps=40", "optimizer.warmup=39"))


@pytest.mark.parametrize(
    ("times", "looks"),
    [("every=41", False), ("every=40", True), ("every=500,at_end=true", True), ("dense_until=1", True), ("", True)],
)
def test_a_probe_that_never_looks(tiny, times, looks):
    probes = "probes=[{use='trace'%s}]" % (f",{times}" if times else "")
    found = [text for text in said(tiny, "run.steps=40", probes) if "never looks" in text]

    assert found == ([] if looks else ["the probe trace never looks: the run's 40 steps end before it is due"])


def test_both_commands_say_it(tiny, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for command in ("show", "run"):
        with pytest.raises(SystemExit):
            main([command, str(tiny), "--set", "run.steps=30", "--set", "optimizer.warmup=99"])
        out, err = capfd.readouterr()
        text = "warning: optimizer.warmup is 99 steps and the run 30: the learning rate never comes to its peak"
        assert text in (out if command == "show" else err)


@pytest.mark.parametrize("settings", [["optimizer.use=sgd"], ["optimizer.lr=0.5", "optimizer.use=muon"]])
def test_another_optimiser_keeps_rate_and_warm_up(tiny, settings):
    was, made = load(tiny).scenario.optimizer, load(tiny, settings=settings).scenario.optimizer

    assert made.use == settings[-1].partition("=")[2]
    assert (made.warmup, made.schedule) == (was.warmup, was.schedule)
    assert made.lr == (0.5 if len(settings) > 1 else was.lr)


def test_so_does_one_that_a_child_scenario_names(tiny):
    child = tiny.with_name("child.toml")
    child.write_text('extends = "tiny.toml"\n[optimizer]\nuse = "sgd"\nmomentum = 0.5\n', encoding="utf-8")
    was, made = load(tiny).scenario.optimizer, load(child).scenario.optimizer

    assert (made.use, made.momentum, made.lr, made.warmup) == ("sgd", 0.5, was.lr, was.warmup)


@pytest.mark.parametrize("command", ["show", "run"])
@pytest.mark.parametrize("body", ["1 / 0", "return 0", "return None"])
def test_phases_that_cannot_be_foreseen_are_blamed_before_anything_is_made(
    tiny, tmp_path, monkeypatch, capfd, command, body
):
    (tmp_path / "mine.py").write_text(
        "import attrs\nfrom andrea_core import hookimpl\n\n@attrs.frozen\nclass Mine:\n"
        f'    """Phases."""\n    def length(self, context, rng): {body}\n\n'
        '@hookimpl\ndef andrea_phases(): return {"mine": Mine}\n'
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([command, str(tiny), "--plugin", "mine.py", "--set", "phases.use=mine", "--set", "run.steps=30"])
    said_ = capfd.readouterr().err

    assert ended.value.code == 2
    assert "phase 'mine'" in said_
    assert "Traceback" not in said_
    assert not (tmp_path / "runs").exists()

"""Races lose nothing: places and settings are looked at first, and a policy that fails is a row with its reason."""

import json
import multiprocessing
import signal
import sys
import time

import pytest

from andrea_core.cli import main
from andrea_core.errors import AndreaError, ScenarioError
from andrea_core.simulator.race import Ground, check, race
from andrea_core.simulator.workers import uninterrupted, workers

BROKEN = '''
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Broken:
    """Fails in its third phase."""
    needs = frozenset()
    def start(self, sources): return 0
    def propose(self, state, moment, rng):
        if state == 2: raise ValueError("two | three")
        return moment.region.centre
    def update(self, state, outcome): return state + 1

@hookimpl
def andrea_policies(): return {"broken": Broken}
'''


def andrea(*arguments):
    with pytest.raises(SystemExit) as done:
        main([*map(str, arguments)])
    return done.value.code


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(BROKEN, encoding="utf-8")
    return path


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_that_fails_on_the_way_is_left_out_and_the_others_are_kept(little, broken, jobs):
    failed = {}
    heats = race(
        Ground(little, "transfer", plugins=(str(broken),)),
        ("broken", "uniform"),
        range(2),
        jobs=jobs,
        failed=failed.__setitem__,
    )

    assert [(heat.policy, heat.seed) for heat in heats] == [("uniform", 0), ("uniform", 1)]
    assert list(failed) == ["broken"]
    assert "two | three" in failed["broken"]


def test_the_command_writes_the_others_and_the_reason_and_ends_with_1(little, broken, tmp_path, capsys):
    out = tmp_path / "race"

    assert andrea("race", little, "--policies", "broken,ucb1", "--plugin", broken, "--seeds", 2, "--out", out) == 1
    said = capsys.readouterr()
    assert "| broken | - | failed |  |" in said.out
    assert "\n* failed: policy broken, seed" in said.out
    assert "failed: broken: policy broken, seed" in said.err
    assert (out / "race.md").read_text(encoding="utf-8").startswith("# Race: little, truth transfer\n")
    assert "broken" in json.loads((out / "race.json").read_text(encoding="utf-8"))["failed"]
    assert (out / "runs.csv").read_text(encoding="utf-8").count("\nucb1,") == 2


def test_a_race_that_is_broken_off_keeps_its_runs_and_is_gone_on_with(little, tmp_path, monkeypatch, capsys):
    from andrea_core.simulator import race as module

    ran = module.run_heat

    def interrupted(ground, policy, seed):
        if policy == "uniform":
            raise KeyboardInterrupt
        return ran(ground, policy, seed)

    monkeypatch.setattr(module, "run_heat", interrupted)
    assert andrea("race", little, "--policies", "ucb1", "--seeds", 2, "--out", tmp_path / "race") != 0
    lines = (tmp_path / "race" / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["policy", "ucb1", "ucb1"]
    assert "2 of 8 runs are in" in capsys.readouterr().err

    ran_again = []
    monkeypatch.setattr(module, "run_heat", lambda *heat: ran_again.append(heat[1:]) or ran(*heat))
    out, other = ("--out", tmp_path / "race"), ("--out", tmp_path / "other")
    assert andrea("race", little, "--policies", "exp3", "--seeds", 2, *out) == 2
    assert "an unfinished race that differs in policies" in capsys.readouterr().err
    assert andrea("race", little, "--policies", "ucb1", "--seeds", 2, "--truth", "forgetting", *out) == 2
    assert "an unfinished race that differs in truth" in capsys.readouterr().err
    with (tmp_path / "race" / "runs.csv").open("a") as file:
        file.write("uniform,0,2.")  # a row that was cut off
    assert andrea("race", little, "--policies", "ucb1", "--seeds", 2, *out) == 0
    assert "ucb1" not in {policy for policy, _ in ran_again}
    assert andrea("race", little, "--policies", "ucb1", "--seeds", 2, *other) == 0
    assert (tmp_path / "race" / "runs.csv").read_text() == (tmp_path / "other" / "runs.csv").read_text()
    assert {path.name for path in (tmp_path / "race").iterdir()} == {"race.json", "race.md", "race.svg", "runs.csv"}


def test_a_folder_with_something_in_it_is_refused_before_the_first_heat(little, tmp_path, capsys, monkeypatch):
    from andrea_core.simulator import race as module

    monkeypatch.setattr(module, "run_heat", lambda *_: pytest.fail("a heat was run"))
    (tmp_path / "race").mkdir()
    (tmp_path / "race" / "runs.csv").write_text("mine", encoding="utf-8")

    assert andrea("race", little, "--policies", "ucb1", "--out", tmp_path / "race") == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "race" / "runs.csv").read_text(encoding="utf-8") == "mine"


def test_every_policy_is_started_before_the_first_heat(little):
    with pytest.raises(AndreaError, match=r"policy regmix: .*regmix"):
        check(Ground(little, "transfer"), ("ucb1", "regmix"))


@pytest.mark.parametrize("policy", ["ucb1(c==2)", "ucb1(c)", "ucb1(c=2, c=3)", "odm(mode=paper)"])
def test_settings_that_are_no_toml_are_called_that(little, policy):
    with pytest.raises(ScenarioError, match=r"what stands in its brackets is no TOML \("):
        Ground(little, "transfer").loaded(policy)


@pytest.mark.parametrize("options", [("--seeds", 10**9), ("--seed", 10**400), ("--seed", 2**63)])
def test_seeds_beyond_bounds_are_refused(little, tmp_path, options):
    assert andrea("race", little, "--policies", "ucb1", "--out", tmp_path / "race", *options) == 2
    assert not (tmp_path / "race").exists()


def test_a_policy_that_is_named_twice_is_refused(little, tmp_path, capsys):
    assert andrea("race", little, "--policies", "ucb1,exp3,ucb1", "--out", tmp_path / "race") == 2
    assert "names ucb1 more than once" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals are held back by masks")
def test_workers_are_deaf_to_ctrl_c_from_their_first_moment():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with workers(1) as pool:
        with uninterrupted():
            answer = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        assert signal.SIGINT in answer.result()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are held back by masks")
def test_a_block_that_ends_early_ends_its_workers():
    def interrupted():
        with workers(1) as pool:
            with uninterrupted():
                pool.submit(time.sleep, 1000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not multiprocessing.active_children()

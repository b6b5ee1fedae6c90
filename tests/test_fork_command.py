"""What `andrea fork` is asked for: RUN@STEP, and a scenario whose plugins the parent may have been given otherwise."""

import re

import pytest

from andrea_core.assembly import new_run
from andrea_core.cli import main
from andrea_core.cli.fork import run_and_step
from andrea_core.errors import RunError
from andrea_core.forking import forked_run
from andrea_core.progress import Progress
from andrea_core.scenario import load


@pytest.mark.parametrize("step", ["abc", "-5", "", "1.5", "²", "9" * 100])
def test_what_is_no_step_is_refused_with_those_that_are(tmp_path, step):
    for name in ("step_0000000", "step_0000021"):
        (tmp_path / "r1" / "checkpoints" / name).mkdir(parents=True)
    with pytest.raises(RunError, match=rf"'{re.escape(step[:40])}' is no step; write RUN@STEP .*r1 has 0, 21$"):
        run_and_step(f"{tmp_path / 'r1'}@{step}")
    with pytest.raises(RunError, match=r"there is no such folder, .* a whole number$"):
        run_and_step(f"{tmp_path / 'r2'}@{step}")


def test_a_step_without_a_checkpoint_is_refused_with_those_that_have_one(tiny, tmp_path):
    new_run(load(tiny), tmp_path / "run", Progress(), device="cpu", threads=1).folder.release()
    with pytest.raises(RunError, match="has no checkpoint of step 999; there is none"):
        forked_run(tmp_path / "run", 999, load(tiny), tmp_path / "fork", Progress(), device="cpu", threads=1)
    (tmp_path / "run/checkpoints/step_0000007").mkdir()
    with pytest.raises(RunError, match="has no checkpoint of step 999; there is 7"):
        forked_run(tmp_path / "run", 999, load(tiny), tmp_path / "fork", Progress(), device="cpu", threads=1)


MINE = """
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Mine:
    needs = frozenset()
    def start(self, sources): return None
    def propose(self, state, moment, rng): return moment.region.centre()
    def update(self, state, outcome): return state

@hookimpl
def andrea_policies(): return {"mine": Mine}
"""


def test_a_name_of_a_plugin_that_is_not_given_again_is_refused_with_the_option(tiny, tmp_path, capfd):
    plugin, out = tmp_path / "mine.py", tmp_path / "run"
    plugin.write_text(MINE)
    mine = ["--set", "policy={ use = 'mine' }"]
    given = load(tiny, settings=[mine[1], "run.steps=27"], plugins=[str(plugin)])
    new_run(given, out, Progress(), device="cpu", threads=1).folder.release()
    hint = "no policy is called 'mine'; there is .*; if a plugin file of yours has it, give --plugin FILE, or"
    for command in (["show", tiny], ["run", tiny, "--out", tmp_path / "b"], ["fork", out, tiny]):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in (*command, *mine)])
        said = capfd.readouterr().err

        assert ended.value.code == 2
        assert re.search(hint, said)
        assert (f"{out} was started with plugin files that may be lacking: --plugin {plugin}" in said) == (
            command[0] == "fork"
        )

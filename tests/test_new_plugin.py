"""`andrea plugins new`: what it writes passes its own test, runs, and never overwrites."""

import subprocess
import sys

import pytest

from andrea_core import PluginError
from andrea_core.assembly import new_run
from andrea_core.cli import main
from andrea_core.cli.new import KINDS, write_plugin
from andrea_core.plugins import SINGULAR, Catalogue
from andrea_core.progress import Progress
from andrea_core.scenario import load

USES = {
    "policy": 'policy = { use = "mine_policy" }',
    "reward": 'reward = { use = "mine_reward" }',
    "constraint": 'constraints = [{ use = "mine_constraint" }]',
    "curriculum": 'curriculum = { use = "mine_curriculum" }',
    "phases": 'phases = { use = "mine_phases" }',
    "adjust": 'adjusts = [{ use = "mine_adjust" }]',
    "source": "sources.mine = { use = 'mine_source' }",
    "observer": "observers = [{ use = 'mine_observer' }]",
    "probe": 'probes = [{ use = "mine_probe", at_end = true }]',
}


def test_every_new_plugin_passes_the_test_beside_it(tmp_path):
    for kind in KINDS:
        write_plugin(kind, f"mine_{kind}", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(KINDS) + 1} passed" in done.stdout  # the source has two tests


def test_there_is_one_for_every_kind_that_can_be_registered():
    assert list(KINDS.values()) == list(SINGULAR)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiny_run_goes_through_with_each_new_plugin(kind, tiny, tmp_path):
    plugin, _ = write_plugin(kind, f"mine_{kind}", tmp_path)
    scenario = tiny.with_name("mine.toml")
    scenario.write_text(f'extends = "tiny.toml"\n{USES[kind]}\n', encoding="utf-8")
    loaded = load(scenario, settings=("run.steps=30",), plugins=(str(plugin),))
    experiment = new_run(loaded, tmp_path / "run", Progress(), device="cpu", threads=1)
    try:
        experiment.run(None)
    finally:
        experiment.folder.release()

    assert experiment.state.step == 30


def test_files_that_are_there_stay_as_they_are(tmp_path):
    plugin, test = write_plugin("policy", "mine", tmp_path)
    plugin.unlink()
    test.write_text("mine", encoding="utf-8")
    with pytest.raises(PluginError, match=r"test_mine\.py is there already and is not overwritten"):
        write_plugin("policy", "mine", tmp_path)

    assert not plugin.exists()
    assert test.read_text(encoding="utf-8") == "mine"


REFUSED = {
    **dict.fromkeys(["", "A", "Foo", "1a", "a-b", "a.b", "../a", "é", "a" * 80], "use small letters, digits and _"),
    **dict.fromkeys(["class", "lambda"], "a word of Python's own; add one, as in my_"),
    **dict.fromkeys(["none", "true", "false", "nan", "inf"], "reads as a value, not as a name"),
    **dict.fromkeys(["sys", "random", "conftest", "andrea_core"], "would hide the module of that name"),
    **dict.fromkeys(["moment", "policy_traits", "exception", "ellipsis", "any"], "which hides a name that it needs"),
    **dict.fromkeys(["ucb1", "dice", "thompson"], "registers a policy of that name already"),
    **dict.fromkeys(["numpy", "attrs", "pytest"], "an installed module is called so"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_python_toml_or_a_plugin_has_taken_are_refused_with_a_reason(name, tmp_path):
    with pytest.raises(PluginError, match=REFUSED[name]) as refused:
        write_plugin("policy", name, tmp_path)

    assert str(refused.value).startswith(f"a policy cannot be called {name!r}: ")
    assert not list(tmp_path.iterdir())


def test_a_name_that_only_another_kind_has_may_be_used(tmp_path):
    plugin, _ = write_plugin("reward", "ucb1", tmp_path)

    assert Catalogue.of((str(plugin),)).get("rewards", "ucb1").__name__ == "Ucb1"


def test_the_command_writes_here_and_an_unknown_kind_is_bad_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    codes = []
    for words in (["new", "reward", "mine"], ["new", "polciy", "mine"], ["new", "policy"], ["ucb1"], ["ucb1", "odm"]):
        with pytest.raises(SystemExit) as ended:
            main(["plugins", *words])
        codes.append(ended.value.code)
    said = capsys.readouterr()

    assert codes == [0, 2, 2, 0, 2]
    assert (tmp_path / "mine.py").exists()
    assert "did you mean 'policy'?" in said.err
    assert "and it declares:" in said.out

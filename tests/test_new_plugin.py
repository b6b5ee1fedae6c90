"""`andrea plugins new`: what it writes passes its own test, runs, and never overwrites."""

import subprocess
import sys

import pytest

from andrea_core import PluginError
from andrea_core.assembly import new_run
from andrea_core.cli import main
from andrea_core.cli.new import write_plugin
from andrea_core.cli.templates import TEMPLATES
from andrea_core.progress import Progress
from andrea_core.scenario import load

USES = {
    "policy": 'policy = { use = "mine_policy" }',
    "reward": 'reward = { use = "mine_reward" }',
    "constraint": 'constraints = [{ use = "mine_constraint" }]',
    "curriculum": 'curriculum = { use = "mine_curriculum" }',
    "phases": 'phases = { use = "mine_phases" }',
    "adjust": 'adjusts = [{ use = "mine_adjust" }]',
    "probe": 'probes = [{ use = "mine_probe", at_end = true }]',
}


def test_every_new_plugin_passes_the_test_beside_it(tmp_path):
    for kind in TEMPLATES:
        write_plugin(kind, f"mine_{kind}", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(TEMPLATES)} passed" in done.stdout


@pytest.mark.parametrize("kind", TEMPLATES)
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


def test_files_that_are_there_stay_as_they_are(tmp_path):
    plugin, test = write_plugin("policy", "mine", tmp_path)
    plugin.unlink()
    test.write_text("mine", encoding="utf-8")
    with pytest.raises(PluginError, match=r"test_mine\.py is there already and is not overwritten"):
        write_plugin("policy", "mine", tmp_path)

    assert not plugin.exists()
    assert test.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "../a", "class", "a" * 80])
def test_names_that_no_module_can_have_are_refused(name, tmp_path):
    with pytest.raises(PluginError, match="cannot be a plugin file's"):
        write_plugin("policy", name, tmp_path)


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

"""A reward that is not finite is dropped with an event, and the run goes on."""

from andrea_core.assembly import new_run
from andrea_core.layers import read_toml
from andrea_core.phase import Director
from andrea_core.plugins import Catalogue
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import loaded

ENDLESS = '''
import attrs
import numpy as np
from andrea_core import hookimpl

@attrs.frozen
class Endless:
    """An infinite reward for the first source, 1 for the others."""
    needs = frozenset()
    def start(self, sources): return 0
    def score(self, state, observation, rng):
        scores = np.ones(len(observation.weights))
        scores[0] = np.inf
        return scores, state + 1

@hookimpl
def andrea_rewards(): return {"endless": Endless}
'''


def test_an_infinite_reward_is_told_and_its_source_counts_as_unseen(tiny, tmp_path, monkeypatch):
    plugin = tmp_path / "endless.py"
    plugin.write_text(ENDLESS)
    data = read_toml(tiny) | {"reward": {"use": "endless"}, "plugins": [str(plugin)], "probes": []}
    experiment = new_run(
        loaded(data, Catalogue.of([str(plugin)]), str), tmp_path / "run", Progress(), device="cpu", threads=1
    )
    outcomes, learn = [], Director.learn

    def listening(self, *arguments):
        found = learn(self, *arguments)
        outcomes.append(found[1])
        return found

    monkeypatch.setattr(Director, "learn", listening)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    run = open_run(tmp_path / "run")
    told = [text for kind, text in zip(run.events["kind"], run.events["text"], strict=True) if kind == "reward_dropped"]
    assert told
    assert set(told) == {"birds: inf is not finite"}
    assert run.phases["steps"].sum() == 40
    assert outcomes
    assert not any(one.seen[0] for one in outcomes)
    assert all(one.reward[0] == 0.0 for one in outcomes)
    assert any(one.seen[1:].any() for one in outcomes)

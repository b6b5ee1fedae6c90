"""Runs to replay: a finished one to damage, and plugins that look at everything."""

import pytest
from finished_runs import copied

from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.scenario import load

NEEDY = '''
import attrs
import numpy as np
from andrea_core import Measurement, hookimpl

@attrs.frozen
class Needy:
    """A reward that looks at everything."""
    needs = frozenset({"heldout", "loss_after", "source_gradients"})
    def start(self, sources): return None
    def score(self, state, observation, rng):
        heldout, tables = np.nan_to_num(observation.heldout), observation.gradients
        return heldout + np.nan_to_num(tables.train).sum(1) + np.nan_to_num(tables.heldout).sum(1), None

@attrs.frozen
class Stopper:
    """A probe that says how sure it is, and stops the run once."""
    at: int = 20
    needs = frozenset()
    def start(self, sources): return 0
    def measure(self, state, view, rng):
        luck = Measurement(rng.random(), "ok" if state % 2 else "a guess")
        found = {"luck": luck, "word": Measurement(f"look {state}")}
        stop = {"stop": Measurement("enough")} if view.step >= self.at > 0 else {}
        return found | stop, state + 1

@hookimpl
def andrea_rewards(): return {"needy": Needy}

@hookimpl
def andrea_probes(): return {"stopper": Stopper}
'''


SHORT = ("run.steps=24", "curriculum.stages[0].until=5", "curriculum.stages[1].until=13")


@pytest.fixture
def needy(tmp_path):
    path = tmp_path / "needy.py"
    path.write_text(NEEDY)
    return str(path)


@pytest.fixture
def start(tiny):
    """Return what makes the experiment of a short run that is ready for its first step."""

    def ready(out, *settings, **options):
        made = load(tiny, settings=[*SHORT, *settings], **options)
        return new_run(made, out, Progress(), device="cpu", threads=1)

    return ready


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Where the run that all tests copy lies once it is trained."""
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def run(finished, tiny, tmp_path):
    """A copy of a finished run, to be damaged."""
    return copied(finished, tiny, tmp_path / "copy", *SHORT)

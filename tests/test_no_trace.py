"""A run that cannot begin leaves no folder: whatever refuses it does so before one is made, or it goes again."""

import attrs
import pytest

from andrea_core.assembly import new_run
from andrea_core.errors import AndreaError
from andrea_core.forking import forked_run
from andrea_core.model import gradients, memory
from andrea_core.model.gpt import build_model
from andrea_core.model.held import held
from andrea_core.model.ranks import Ranks
from andrea_core.model.settings import PRESETS, OptimizerSettings
from andrea_core.progress import Progress
from andrea_core.scenario import load

FAULTY = '''
import attrs
from andrea_core import hookimpl

@attrs.frozen
class Late:
    """A policy that cannot start."""
    needs = frozenset()
    def start(self, sources): raise RuntimeError("no start")
    def propose(self, state, moment, rng): return moment.weights
    def update(self, state, outcome): return state

@attrs.frozen
class Deaf:
    """An observer that cannot start, and has written something by then."""
    def open(self, folder, sources):
        open(folder + "/deaf.txt", "w").close()
        raise OSError("no line")
    def phase(self, handle, told): pass
    def close(self, handle): pass

@hookimpl
def andrea_policies(): return {"late": Late}

@hookimpl
def andrea_observers(): return {"deaf": Deaf}
'''

REFUSED = {
    "the policy 'late' .*no start": ("policy={ use = 'late' }",),
    "the observer 'deaf' cannot start": ("observers=[{ use = 'deaf' }]",),
    "would take .* backward passes": ("reward={ use = 'gradient_alignment' }",),
    '"fsdp" cannot train with Muon': ("run.parallel=fsdp", "optimizer.use=muon"),
    "--device mps: this machine": (),
    "would take about": ("model.width=4096",),
}


class Two(Ranks):
    index, size, local, neighbours = 1, 2, 1, 2


@pytest.fixture
def faulty(tmp_path):
    path = tmp_path / "faulty.py"
    path.write_text(FAULTY)
    return str(path)


def begin(scenario, out, settings, plugin, device="cpu"):
    loaded = load(scenario, settings=settings, plugins=[plugin])
    return new_run(loaded, out, Progress(), device=device, threads=1)


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused_leaves_no_folder(tiny, tmp_path, faulty, monkeypatch, why):
    monkeypatch.setattr(gradients, "MOST_PASSES", 1)
    monkeypatch.setattr(memory, "free_memory", lambda: 2**28)
    with pytest.raises(AndreaError, match=why):
        begin(tiny, tmp_path / "run", REFUSED[why], faulty, "mps" if "mps" in why else "cpu")

    assert not (tmp_path / "run").exists()


def test_a_folder_that_was_there_stays(tiny, tmp_path, faulty):
    (tmp_path / "run").mkdir()
    with pytest.raises(AndreaError, match="the observer 'deaf' cannot start"):
        begin(tiny, tmp_path / "run", ["observers=[{ use = 'deaf' }]"], faulty)

    assert (tmp_path / "run").is_dir()


def test_another_rank_than_the_first_takes_nothing_away(tiny, tmp_path, faulty, monkeypatch):
    (tmp_path / "run" / "run.zarr").mkdir(parents=True)
    monkeypatch.setattr(Two, "share", lambda _self, _make: tmp_path / "run")
    monkeypatch.setattr("andrea_core.assembly.parts_of", lambda *_: None)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'loaded'"):
        new_run(load(tiny), tmp_path / "run", Progress(), device="cpu", threads=1, ranks=Two())

    assert (tmp_path / "run" / "run.zarr").is_dir()


def test_a_fork_that_is_refused_leaves_no_folder_and_its_parent_as_it_was(tiny, tmp_path, faulty, monkeypatch):
    base, parent, out = ["curriculum={ use = 'static' }"], tmp_path / "parent", tmp_path / "fork"
    experiment = begin(tiny, parent, [*base, "run.steps=2"], faulty)
    experiment.run()
    experiment.folder.release()
    before = sorted(parent.rglob("*"))
    for why in ("the policy 'late' .*no start", "the observer 'deaf' cannot start", "would take about"):
        loaded = load(
            tiny, settings=[*base, *(REFUSED[why] if "deaf" in why or "late" in why else ())], plugins=[faulty]
        )
        monkeypatch.setattr(memory, "free_memory", lambda why=why: 2**20 if "about" in why else 2**28)
        with pytest.raises(AndreaError, match=why):
            forked_run(parent, 2, loaded, out, Progress(), device="cpu", threads=1)

        assert not out.exists()
    assert sorted(parent.rglob("*")) == before


def test_muon_in_parts_is_refused_with_the_scenario_and_by_a_trainer_of_its_own(tiny):
    message = r'run.parallel: "fsdp" cannot train with Muon, which needs whole matrices; use run.parallel = "ddp"'
    with pytest.raises(AndreaError, match=message):
        load(tiny, settings=("run.parallel=fsdp", "optimizer.use=muon"))
    shape, settings = attrs.evolve(PRESETS["tiny"], context=8), OptimizerSettings(use="muon")
    with pytest.raises(AndreaError, match=message):
        held(build_model(shape, 19, 0), settings, lambda *_: None, Two(), "fsdp")

"""Each probe of the registry leaves a model, its optimiser and the generators as they are, also where it raises."""

import hashlib
import random
from fnmatch import fnmatchcase

import numpy as np
import pytest
import torch
from busy_probes import all_probes, names
from torch.utils._python_dispatch import TorchDispatchMode

from andrea_core.assembly import new_run
from andrea_core.looking import Looker
from andrea_core.model.optimiser import moments
from andrea_core.progress import Progress
from andrea_core.scenario import load

AT_EVENTS = {"cliff"}  # without an event they ask the model nothing
SETTINGS = """
run = { steps = 30, checkpoint_every = 40 }
model = { layers = 2, heads = 2, width = 16, context = 24, dropout = 0.2 }
"""


class Boom(Exception):  # noqa: N818 - it is no fault of anything
    """Raised in the middle of a probe's work."""


class Bomb(TorchDispatchMode):
    """Counts PyTorch's operations, and raises at one of them, wherever a probe has got to by then."""

    def __init__(self, at=None):
        super().__init__()
        self.at, self.count = at, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        if self.count == self.at:
            raise Boom
        return func(*args, **(kwargs or {}))


def fingerprint(trainer):
    """A digest of all that training depends on."""
    model, found = trainer.model, hashlib.sha256()
    for name, tensor in [*model.state_dict().items(), *moments(model, trainer.optimizer).items()]:
        found.update(name.encode() + tensor.detach().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    for parameter in model.parameters():
        grad = parameter.grad
        found.update(str((id(parameter), id(grad), parameter.requires_grad)).encode())
        found.update(b"" if grad is None else grad.numpy().tobytes())
    found.update(str([module.training for module in model.modules()]).encode())
    found.update(str((random.getstate(), torch.get_rng_state().tolist(), torch.is_grad_enabled())).encode())
    found.update(np.random.get_state()[1].tobytes())
    return found.hexdigest()


def numeric(measured):
    return {name: one for name, one in measured.items() if not isinstance(one.value, str)}


@pytest.fixture(scope="module")
def known():
    """What `looked` finds once for all tests."""
    return {}


@pytest.fixture
def looked(known, tiny, tmp_path):
    """What every probe did to a trained model when it looked by itself and when it was stopped inside: by name."""
    if not known:
        known.update(_looked(tiny, tmp_path))
    return known


def _looked(tiny, folder):
    path = tiny.with_name("all.toml")
    path.write_text(f'extends = "tiny.toml"\n{SETTINGS}{all_probes("every = 20, at_end = true")}\n')
    told = {name: [] for name in names()}
    patched = pytest.MonkeyPatch()
    measured = Looker.measured

    def watching(self, index, state, view):
        if state.step < 30:
            return measured(self, index, state, view)
        component, name = self.director.scenario.probes[index].component, self._name(index)
        before = fingerprint(self.trainer)
        for parts in (None, 7, 2, 1):
            bomb = Bomb(parts and max(1, told[name][-1]["operations"] // parts))
            found = {}
            try:
                with bomb:
                    found, _ = component.measure(state.probes[index], view, np.random.default_rng(1))
            except Boom:
                pass
            same = fingerprint(self.trainer) == before
            told[name].append({"operations": bomb.count, "at": bomb.at, "same": same, "found": found, "of": component})
        return measured(self, index, state, view)

    patched.setattr(Looker, "measured", watching)
    experiment = new_run(load(path), folder / "run", Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        patched.undo()
        experiment.folder.release()
    return told


@pytest.mark.parametrize("name", names())
def test_a_probe_leaves_all_as_it_was_even_where_it_is_stopped_inside(looked, name):
    whole, *stopped = looked[name]
    assert whole["found"]
    assert whole["operations"] or name in AT_EVENTS
    assert all(one["operations"] == one["at"] and not one["found"] for one in stopped if whole["operations"])
    assert all(one["same"] for one in looked[name])


@pytest.mark.parametrize("name", names())
def test_a_probe_measures_what_it_declares_and_nothing_else(looked, name):
    whole = looked[name][0]
    of, found = whole["of"], numeric(whole["found"])
    arrays = getattr(of, "arrays", ())
    for key, one in found.items():
        declared = arrays if one.axes else of.measures
        assert any(fnmatchcase(key, pattern) for pattern in declared), key
    for pattern in (*of.measures, *arrays):
        assert any(fnmatchcase(key, pattern) for key in found), pattern

"""Any setting of any probe is refused, or gives values each of which says by its status when it is no number."""

import tomllib
import typing
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
import torch
from busy_probes import FEW, names
from probed_models import CORPUS

from andrea_core import Measurement, RunError, Sources
from andrea_core.findings import checked
from andrea_core.guard import Blame
from andrea_core.model.course import Course
from andrea_core.model.settings import ModelShape, OptimizerSettings
from andrea_core.model.trainer import Trainer
from andrea_core.model.view import ModelView
from andrea_core.plugins import Catalogue

EXTREMES = {True: (0, 1, 2, -1, 2**62, 2**63 - 1), False: (0.0, 1.0, -1.0, 1e308, 1e-308, 1e30)}
TABLE = Catalogue.of().table["probes"]
QUIET = {"cliff"}  # says NaN, with a good status, when nothing has happened


def view_of(sources=CORPUS.sources, broken=False, **shape):
    sizes = {"layers": 1, "heads": 2, "width": 8, "context": 12, "tied_head": True, "bias": True, "dropout": 0.2}
    made = Trainer(
        ModelShape(**{**sizes, **shape}),
        OptimizerSettings(lr=3e-3, warmup=5),
        vocabulary=11,
        rows=2,
        total_steps=20,
        seed=1,
    )
    for tokens in np.random.default_rng(1).integers(0, 11, (2, 2, made.shape.context + 1)):
        made.step(tokens[:, :-1], tokens[:, 1:])
    if broken:
        with torch.no_grad():
            for parameter in made.model.parameters():
                parameter.mul_(1e30)
    corpus = SimpleNamespace(tokenizer=CORPUS.tokenizer, sources=list(sources))
    stages = {"one": (0,), "two": tuple(range(len(corpus.sources)))}
    return ModelView(made.model, corpus, made.steps_done, Course(made, stages), "one")


def few(name):
    return tomllib.loads(f"all = {{ {FEW.get(name, '')} }}")["all"]


def numbers(cls):
    """Return the names of the settings that take a number, and whether it is a whole one."""
    hints = typing.get_type_hints(cls)
    kinds = {field.name: typing.get_args(hints[field.name]) or (hints[field.name],) for field in attrs.fields(cls)}
    return {name: int in kind for name, kind in kinds.items() if {int, float} & set(kind)}


def refusal(cls, settings):
    """Return what is said against settings, None if nothing is."""
    try:
        cls(**settings)
    except ValueError as error:
        return str(error)
    return None


def look(probe, view, name):
    """Let a probe look twice, the second time with what it remembers, and hold what it says to the contract.

    A model without finite predictions has no text to sample: that is one message. Returns the names of its values.
    """
    sources = Sources(view.sources, np.ones(len(view.sources), np.int64))
    state, names = probe.start(sources), set()
    for seed in range(2):
        try:
            found, state = probe.measure(state, view, np.random.default_rng(seed))
        except RunError as error:
            if "it has diverged" in str(error):
                return {"diverged"}
            raise
        for key, one in checked(found, len(sources), Blame("probe", name, "here", 0, "")).items():
            assert isinstance(one, Measurement)
            sound = isinstance(one.value, str) or np.isfinite(one.value).all()
            assert sound or one.status != "ok" or name in QUIET, (key, one)
            names.add(key)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_extreme_settings_are_refused_or_say_what_came_of_them(name):
    view, cls = view_of(), TABLE[name].cls
    tried = 0
    for setting, whole in numbers(cls).items():
        for value in EXTREMES[whole]:
            settings = {**few(name), setting: value}
            wrong = refusal(cls, settings)
            assert wrong is None or setting in wrong
            if wrong is None:
                assert look(cls(**settings), view, name)
                tried += 1
    assert tried or not numbers(cls)


@pytest.fixture(scope="module")
def odd():
    """Views of a model of one head and a context of one, of a short source, of one without text, of a broken model."""
    alone = {one.name: [one] for one in CORPUS.sources}
    tiny = view_of(context=1, heads=1, width=2)
    return tiny, view_of(alone["small"]), view_of(alone["none"]), view_of(broken=True)


@pytest.mark.parametrize("name", names())
def test_odd_models_and_sources_are_no_error(odd, name):
    for view in odd:
        assert look(TABLE[name].cls(**few(name)), view, name)

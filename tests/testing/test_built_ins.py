"""Every built-in policy, reward, constraint set and curriculum of the catalogue keeps its contract, none left out."""

import attrs
import numpy as np
import pytest

from andrea_core.plugins import Catalogue
from andrea_core.testing import check_constraint_set, check_curriculum, check_policy, check_reward
from andrea_core.testing.worlds import NAMES
from andrea_plugins.constraints.anneal import BoundSet
from andrea_plugins.constraints.groups import GroupBound
from andrea_plugins.constraints.linear import LinearBound
from andrea_plugins.curricula import StageSpec
from andrea_plugins.curricula.reactive import ReactiveStage
from andrea_plugins.curricula.rules import Cliff
from andrea_plugins.policies import Exp3, Face, Thompson

CHECKS = {
    "policies": check_policy,
    "rewards": check_reward,
    "constraints": check_constraint_set,
    "curricula": check_curriculum,
}
ASKED = {"policies": "propose", "rewards": "score", "constraints": "restrict", "curricula": "stage"}
"""What each kind is asked for answers with."""

CATALOGUE = Catalogue.of()
ALL = [(kind, name) for kind in CHECKS for name in CATALOGUE.table[kind]]
NAMED = {
    "policies": {
        "dice": {"faces": (Face(share=0.3, policy=Thompson()), Face(share=0.7, policy=Exp3()))},
        "doremi": {"reference": dict.fromkeys(NAMES, 2.0)},
        "fixed": {"weights": {"a": 0.4, "b": 0.3, "d": 0.3}},
        "mixing_law": {"tables": ("pilots.csv",)},
        "regmix": {"tables": ("pilots.csv",), "regressor": "linear", "draws": 200, "best": 8},
        "unimax": {"budget": 100_000},
    },
    "rewards": {
        "excess_loss": {"reference": dict.fromkeys(NAMES, 2.0)},
        "probe": {"name": "heldout", "measurement": "bits_per_byte"},
    },
    "constraints": {
        "anneal": {"before": BoundSet(), "after": BoundSet(floors={"a": 0.2}), "steps": 500},
        "caps": {"caps": {"a": 0.5, "d": 0.0}},
        "epoch_cap": {"epochs": 3.0},
        "exclude": {"sources": ("a", "c")},
        "floors": {"floors": {"a": 0.3, "b": 0.2}},
        "groups": {"groups": (GroupBound(("a", "b"), 0.3, 0.8),)},
        "linear": {"rows": (LinearBound({"a": 1.0, "b": -2.0}, at_least=0.0),)},
        "max_change": {"delta": 0.05},
    },
    "curricula": {
        "competence": {"difficulty": {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, "steps": 90_000},
        "reactive": {"stages": (ReactiveStage("s", 5, 900, ("a",), cliff=Cliff(nats=1.0)), ReactiveStage("last"))},
        "staged": {"stages": (StageSpec("warmup", 700, ("a", "b")), StageSpec("all"))},
    },
}
"""Settings of the built-ins that cannot do without, for the sources a to d: a new one has to be named here."""

FEWER = {name: {"examples": 6, "many": 30} for name in ("groups", "linear")}
"""Regions with groups and rows cost more than bounds: the core solves a program for each."""


def required(cls):
    return {field.alias for field in attrs.fields(cls) if field.default is attrs.NOTHING}


@pytest.fixture
def pilots(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixtures = np.random.default_rng(3).dirichlet(np.ones(4), 16)
    header = ",".join([f"weight.{name}" for name in NAMES] + [f"loss.{name}" for name in NAMES])
    np.savetxt(
        "pilots.csv", np.hstack([mixtures, 5 + np.exp(-2 * mixtures)]), delimiter=",", header=header, comments=""
    )


@pytest.mark.parametrize(("kind", "name"), ALL, ids=str)
def test_every_built_in_keeps_the_contract_however_often_it_is_asked(kind, name, pilots, monkeypatch):
    cls = CATALOGUE.get(kind, name)
    asked, answer = [], getattr(cls, ASKED[kind])
    monkeypatch.setattr(cls, ASKED[kind], lambda self, *given: [asked.append(1), answer(self, *given)][1])
    CHECKS[kind](cls(**NAMED[kind].get(name, {})), **FEWER.get(name, {}))

    assert len(asked) >= 6


@pytest.mark.parametrize("kind", CHECKS)
def test_the_table_above_has_what_is_required_and_names_nothing_else(kind):
    table = CATALOGUE.table[kind]

    assert NAMED[kind].keys() <= table.keys()
    assert [name for name, found in table.items() if not required(found.cls) <= NAMED[kind].get(name, {}).keys()] == []

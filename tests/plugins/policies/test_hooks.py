"""Registration: each kind of built-in plugin answers its hook with settings classes by name."""

import sys
from importlib import import_module
from subprocess import run

import attrs
import pluggy
import pytest

from andrea_core import hookspecs

NAMES = {
    "adjusts": {"relative_floors"},
    "constraints": {"floors", "caps", "exclude"},
    "curricula": {"staged", "static"},
    "observers": {"jsonl"},
    "phases": {"uniform", "fixed"},
    "policies": {
        *("random", "ucb1", "dice", "fixed", "uniform", "proportional", "temperature", "unimax", "thompson"),
        *("discounted_ucb", "sliding_window_ucb", "exp3", "exp3s", "exp3ix", "tsallis_inf"),
    },
    "rewards": {"improvement", "loss"},
}


@pytest.mark.parametrize("kind", NAMES)
def test_each_kind_registers_its_classes_through_its_hook(kind):
    manager = pluggy.PluginManager("andrea")
    manager.add_hookspecs(hookspecs)
    manager.register(import_module(f"andrea_plugins.{kind}"))
    (table,) = getattr(manager.hook, f"andrea_{kind}")()
    manager.check_pending()

    assert NAMES[kind] <= set(table)
    assert all(attrs.has(cls) and cls.__doc__ for cls in table.values())


@pytest.mark.parametrize("kind", NAMES)
def test_a_kinds_docstring_lists_what_is_there(kind):
    text = import_module(f"andrea_plugins.{kind}").__doc__

    assert all(name in text for name in NAMES[kind])


def test_importing_them_does_not_import_torch():
    modules = ", ".join(f"andrea_plugins.{kind}" for kind in NAMES)
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"

    assert run([sys.executable, "-c", code], check=False).returncode == 0

"""`andrea plugins new KIND NAME`: write a working single-file plugin with its test beside it."""

import builtins
import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import andrea_core
from andrea_core.errors import PluginError
from andrea_core.plugins import SINGULAR, Catalogue
from andrea_core.spelling import nearest

KINDS = {"phases" if plural == "phases" else kind: plural for plural, kind in SINGULAR.items()}
"""The kinds as one plugin of them is called, and as the catalogue calls them."""

CHECKS = {
    "policy": "check_policy",
    "reward": "check_reward",
    "constraint": "check_constraint_set",
    "curriculum": "check_curriculum",
    "phases": "check_phases",
    "adjust": "check_adjust",
}
"""The kinds with a conformance check, which is their test; the others have a test of their own."""

VALUES = ("true", "false", "inf", "nan", "none", "null")
"""Names that a setting on the command line, or a reader, takes for a value."""


def write_plugin(kind: str, name: str, folder: Path) -> tuple[Path, Path]:
    """Write NAME.py and test_NAME.py into a folder and return their paths.

    Raises PluginError for an unknown kind, a name that cannot be a plugin's, and a file that is there already.
    """
    if kind not in KINDS:
        raise PluginError(f"no kind of plugin is called {kind!r}{nearest(kind, KINDS)}")
    wrong = next(_troubles(kind, name), None)
    if wrong:
        raise PluginError(f"a {kind} cannot be called {name!r}: {wrong}")
    paths = folder / f"{name}.py", folder / f"test_{name}.py"
    for path in paths:
        if path.exists():
            raise PluginError(f"{path} is there already and is not overwritten; choose another name or folder")
    tests = "checked" if kind in CHECKS else kind
    for path, template in zip(paths, (f"{kind}.py.txt", f"{tests}_test.py.txt"), strict=True):
        try:
            path.write_text(filled(template, kind, name), encoding="utf-8")
        except OSError as error:
            raise PluginError(f"{path} cannot be written: {error.strerror}; check the folder") from error
    return paths


def filled(template: str, kind: str, name: str) -> str:
    """Return a template's text with NAME, CLASS and CHECK replaced."""
    text = (files("andrea_core.cli") / "templates" / template).read_text(encoding="utf-8")
    words = {"NAME": name, "CLASS": class_of(name), "CHECK": CHECKS.get(kind, "")}
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def class_of(name: str) -> str:
    """Return the name of a plugin's class: `my_policy` gives MyPolicy."""
    return "".join(part.capitalize() for part in name.split("_"))


def _troubles(kind: str, name: str) -> Iterator[str]:
    """Yield what speaks against a name: in Python, in TOML, or because it is taken."""
    cls = class_of(name)
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name):
        yield "it names a file, a module and a setting, so use small letters, digits and _, a letter first"
    if keyword.iskeyword(name):
        yield "it is a word of Python's own; add one, as in my_" + name
    if name in VALUES:
        yield "it reads as a value, not as a name; add a word, as in my_" + name
    if name in sys.stdlib_module_names or name in ("conftest", "andrea_core", "andrea_plugins"):
        yield f"a file {name}.py would hide the module of that name from Python; add a word, as in my_{name}"
    if hasattr(builtins, cls) or keyword.iskeyword(cls) or cls in (*andrea_core.__all__, "Mapping", "Path", "Any"):
        yield f"its class would be called {cls}, which hides a name that it needs; add a word, as in my_{name}"
    taken = Catalogue.of().table[KINDS[kind]]
    if name in taken:
        yield f"{taken[name].plugin} registers a {kind} of that name already; add a word, as in my_{name}"
    if _installed(name):
        yield f"an installed module is called so and {name}.py would hide it; add a word, as in my_{name}"


def _installed(name: str) -> bool:
    """Return whether a module of that name can be imported, from anywhere but the current folder."""
    spec = importlib.util.find_spec(name)
    origin = spec.origin if spec else None
    return spec is not None and not (origin and Path(origin).parent == Path.cwd())

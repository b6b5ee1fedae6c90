"""Plugins: found in two ways, active only when named, never two with one name, and the core imports none."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from andrea_core import hookspecs
from andrea_core.errors import PluginError
from andrea_core.plugins import KINDS, Catalogue

ROOT = Path(__file__).parents[1]

POLICY = '''
"""Loudest: all to the source with the largest reward."""
import attrs
import numpy as np
from andrea_core import hookimpl

@attrs.frozen
class Loudest:
    """Walk to one vertex."""
    boldness: float = 0.5
    needs = frozenset()

    def start(self, sources):
        return np.zeros(len(sources))

    def propose(self, state, moment, rng):
        return moment.weights + self.boldness * (moment.region.vertex(state) - moment.weights)

    def update(self, state, outcome):
        return state + outcome.reward

@hookimpl
def andrea_policies():
    return {"loudest": Loudest}
'''


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "loudest.py"
    path.write_text(POLICY)
    return path


def refusal(*plugins, folder=None):
    with pytest.raises(PluginError) as caught:
        Catalogue.of(plugins, folder=folder)
    return str(caught.value)


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """A package folder with a hand-written dist-info: what pip would install."""
    site = tmp_path / "site"
    info = site / "loud-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "loud_plugin.py").write_text(POLICY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[andrea]\nloud = loud_plugin\n")
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("loud_plugin", None)


def test_every_hook_has_a_kind_a_built_in_and_a_documented_method_list():
    page = (ROOT / "docs" / "writing-a-plugin.md").read_text()
    hooks = [name for name in vars(hookspecs) if name.startswith("andrea_")]
    table = Catalogue.of().table

    assert sorted(hooks) == sorted(f"andrea_{kind}" for kind in KINDS)
    for kind, protocol in KINDS.items():
        assert table[kind], f"no built-in {kind}"
        row = next(line for line in page.splitlines() if line.startswith(f"| `andrea_{kind}`"))
        methods = [name for name, value in vars(protocol).items() if not name.startswith("_") and callable(value)]
        assert all(f"`{method}(" in row for method in methods)


def test_a_single_file_is_a_plugin(plugin):
    catalogue = Catalogue.of([str(plugin)])

    assert catalogue.get("policies", "loudest")().boldness == 0.5
    assert catalogue.active[-1].digest
    assert "loudest" not in Catalogue.of().table["policies"]


def test_a_separate_distribution_is_found_through_its_entry_point(distribution):
    catalogue = Catalogue.of(["loud"])

    assert catalogue.get("policies", "loudest").__name__ == "Loudest"
    assert "loud 1.2" in catalogue.origin_of("policies", "loudest")


def test_an_installed_plugin_that_is_not_named_is_not_imported_but_hinted_at(distribution):
    catalogue = Catalogue.of()

    assert "loud_plugin" not in sys.modules
    assert catalogue.inactive == ("loud",)
    with pytest.raises(PluginError, match="installed but not active: loud"):
        catalogue.get("policies", "loudest")


def test_two_plugins_with_one_name_are_an_error_that_names_both_files(plugin, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(POLICY)
    message = refusal(str(plugin), str(other))

    assert "loudest.py" in message
    assert "other.py" in message


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nowhere_to_be_found", ["failed to load", "nowhere_to_be_found", "line 1"]),
        ("def broken(:", ["failed to load", "SyntaxError"]),
        ("x = 1", ["registers nothing", "@hookimpl"]),
        (POLICY.replace("andrea_policies", "andrea_polices"), ["cannot be registered", "andrea_polices"]),
        (POLICY.replace("@attrs.frozen\n", ""), ["no attrs class"]),
        (POLICY.replace("def update", "def updated"), ["lacks update", "contracts.Policy"]),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path, code, words):
    path = tmp_path / "broken.py"
    path.write_text(code)
    message = refusal(str(path))

    assert all(word in message for word in [*words, "broken"])


def test_a_file_that_is_not_there_is_said(tmp_path):
    assert "does not exist" in refusal("./nope.py", folder=tmp_path)


def test_an_unknown_name_gets_the_nearest_spelling():
    with pytest.raises(PluginError, match=re.escape("did you mean 'ucb1'?")):
        Catalogue.of().get("policies", "ucb2")


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_core_imports_no_plugin():
    code = """
import importlib, pkgutil, sys, andrea_core
for found in pkgutil.walk_packages(andrea_core.__path__, "andrea_core."):
    if not found.name.endswith(("__main__",)):
        importlib.import_module(found.name)
print([name for name in sys.modules if name.split(".")[0] in ("andrea_plugins", "plugins")])
"""
    assert fresh(code).strip() == "[]"


def test_the_built_in_plugins_and_the_catalogue_import_no_torch():
    code = "import sys; from andrea_core.plugins import Catalogue; Catalogue.of(); print('torch' in sys.modules)"

    assert fresh(code).strip() == "False"


def test_the_plugins_folder_refuses_its_own_name():
    done = subprocess.run(
        [sys.executable, "-c", "import plugins"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert "andrea_plugins" in done.stderr
    assert done.returncode == 1


def test_plugins_use_only_public_names_of_the_core():
    import andrea_plugins

    for path in Path(andrea_plugins.__file__).parent.rglob("*.py"):
        for line in path.read_text().splitlines():
            found = re.match(r"\s*(?:from|import) (andrea_core[.\w]*)", line)
            assert not found or found[1] in ("andrea_core", "andrea_core.testing"), f"{path.name}: {line}"

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from andrea_core.cli.corpus import corpus
from andrea_core.data.cache import preference
from andrea_core.errors import CorpusError

SCENARIO = """
name = "tiny"
run = {{ steps = 40 }}
model = {{ preset = "tiny" }}
policy = {{ use = "uniform" }}
reward = {{ use = "improvement" }}
phases = {{ use = "uniform", low = 3, high = 9 }}
[curriculum]
use = "staged"
[[curriculum.stages]]
name = "only"
[sources]
mine = {{ use = "text", files = ["{folder}/*.txt"], licence = "CC0" }}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    for number in range(30):
        (tmp_path / f"a{number}.txt").write_text(f"Text number {number} of a small source.")
    path = tmp_path / "tiny.toml"
    path.write_text(SCENARIO.format(folder=tmp_path))
    return str(path)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(corpus, list(arguments), catch_exceptions=False)


def test_where_prints_the_cache(cache: Path) -> None:
    assert _run("where").output.strip() == str(cache)


def test_list_builds_nothing_and_says_so(scenario: str, cache: Path) -> None:
    output = _run("list", scenario).output
    assert "not built" in output
    assert f"run `andrea corpus build {scenario}`" in output
    assert not (cache / "documents").exists()


def test_list_without_a_scenario_names_the_bundled_sources() -> None:
    output = _run("list").output
    assert output.count("not built") == 16
    assert "hermes3-general" in output


def test_build_prints_the_table_that_list_prints(scenario: str) -> None:
    built = _run("build", scenario).output
    listed = _run("list", scenario).output
    assert "mine: 30 documents, " in built
    assert built.endswith(listed)
    row = next(line for line in listed.splitlines() if line.startswith("mine"))
    assert row.split()[1] == "30"
    assert row.endswith("CC0")


def test_wheels_only_is_remembered_until_a_build_without_it(scenario: str) -> None:
    _run("build", scenario, "--wheels-only")
    assert preference("wheels_only")
    _run("build", scenario)
    assert not preference("wheels_only")


def test_an_unknown_source_is_refused_with_the_nearest_spelling() -> None:
    with pytest.raises(CorpusError, match=r"--source repo-doc: .*repo-docs"):
        _run("build", "--source", "repo-doc")

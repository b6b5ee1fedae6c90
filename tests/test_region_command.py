"""The command `andrea region`: bounds with their reasons, facts, vertices, pictures, and one message for bad input."""

import re

import numpy as np
import pytest

from andrea_core import Region
from andrea_core.cli import main
from andrea_core.report.region_facts import facts, most_vertices

QUADRILATERAL = ("--sources", "H,G,D", "--floors", "H=0.5", "--caps", "D=0.25")


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of `andrea region` in this process."""
    with pytest.raises(SystemExit) as stopped:
        main(["region", *map(str, arguments)])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


def row(out, source):
    """The cells of a source's line in the table of bounds."""
    return next(re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if line.strip().startswith(source))


def test_the_seed_lessons_quadrilateral_is_told_in_full(capfd):
    code, out, _ = call(capfd, *QUADRILATERAL)

    assert code == 0
    assert row(out, "H") == ["H", "0.5", "1", "--floors", "0.7", "0.6944"]
    assert row(out, "G") == ["G", "0", "0.5*", "the other bounds", "0.2", "0.1944"]
    assert row(out, "D") == ["D", "0", "0.25", "--caps", "0.1", "0.1111"]
    for words in (
        "dimension      2; 3 of 3",
        "0.1875 of the simplex",
        "exact rationals",
        "vertices       4",
        "tightened",
    ):
        assert words in out
    corners = {
        tuple(map(float, re.findall(r"[\d.]+", line))) for line in out.splitlines() if not re.search("[a-z]", line)
    }
    assert {(1, 0, 0), (0.75, 0, 0.25), (0.5, 0.5, 0), (0.5, 0.25, 0.25)} <= corners


def test_a_scenarios_stages_each_have_a_table(tiny, capfd):
    code, out, _ = call(capfd, tiny)

    assert code == 0
    assert [line for line in out.splitlines() if line.strip() in ("warmup", "all", "polish")]
    assert "not a source of stage 'warmup'" in out
    assert "stage 'polish'" in out


def test_one_stage_and_bounds_on_top(tiny, capfd):
    code, out, _ = call(capfd, tiny, "--stage", "polish", "--caps", "birds=0.8")

    assert code == 0
    assert "warmup" not in out
    assert row(out, "birds") == ["birds", "0.65*", "0.8", "the other bounds", "--caps", "0.725", "0.725"]


def test_bounds_that_move_are_shown_as_of_a_step(tiny, capfd):
    ends = "before = { floors = { birds = 0 } }, after = { floors = { birds = 0.6 } }"
    anneal = f'constraints=[{{ use = "anneal", start = 12, steps = 14, {ends} }}]'
    code, out, _ = call(capfd, tiny, "--at", 19, "--set", anneal)

    assert code == 0
    assert row(out, "birds")[1:4] == ["0.3", "1", "anneal of stage 'all', 50% of the way"]
    assert "warmup" not in out


def test_the_sixteen_bundled_sources_are_the_default(capfd):
    code, out, _ = call(capfd, "--exclude", "repo-docs,repo-docstrings", "--floors", "hermes3-general=0.7")

    assert code == 0
    assert "dimension      13; 14 of 16 sources open" in out
    assert row(out, "repo-docs")[1:4] == ["0", "0", "--exclude"]


def test_many_vertices_are_bounded_and_not_listed(capfd):
    names = [f"s{i}" for i in range(16)]
    code, out, _ = call(capfd, "--sources", ",".join(names), "--caps", ",".join(f"{name}=0.15" for name in names))

    assert code == 0
    assert f"more than 10000, at most {most_vertices(16)}" in out


@pytest.mark.parametrize("m", [3, 4, 5, 6, 7])
def test_no_region_has_more_vertices_than_the_bound(m):
    names = [f"s{i}" for i in range(m)]
    rng = np.random.default_rng(m)
    for _ in range(20):
        caps = dict(zip(names, (1.1 + rng.random(m)) / m, strict=True))

        assert len(Region.of(names, caps=caps).vertices()) <= most_vertices(m)


@pytest.mark.parametrize("m", [3, 5, 7, 9])
def test_equal_caps_of_2_in_m_reach_the_bound(m):
    names = [f"s{i}" for i in range(m)]

    assert len(Region.of(names, caps=dict.fromkeys(names, 2 / m)).vertices()) == most_vertices(m)


def test_groups_are_rows_of_the_table_and_bind(capfd):
    code, out, _ = call(capfd, "--sources", "a,b,c,d", "--group", "talk=a+b:0.5..0.9", "--caps", "a=0.2")

    assert code == 0
    assert row(out, "a + b") == ["a + b", "0.5", "0.9", "--group", "--group"]
    assert row(out, "b")[1] == "0.3*"


def test_one_point_within_rounding_is_said():
    names = [f"s{i}" for i in range(49)]
    region = Region.of(names, floors=dict.fromkeys(names, 1 / 49 + 1e-15))

    assert dict(facts(region))["note"].startswith("the bounds leave one point within rounding")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--floors", "hermes3-general=0.7,chat=0.5"],
            ["floor 0.7 of hermes3-general (--floors)", "sum to 1.2", "repair"],
        ),
        (["TINY", "--floors", "clocks=0.1"], ["stage 'warmup'", "floor 0.1 of clocks", "not a source of stage"]),
        (["--sources", "a,b", "--floors", "c=0.1"], ["--floors: unknown source 'c'"]),
        (["--sources", "a,b", "--group", "x=a+c:0..1"], ["--group: unknown source 'c'"]),
        (["--floors", "a=0.5"], ["unknown source 'a'", "name your own with --sources"]),
        (["--sources", "A,,B"], ["--sources 'A,,B': a name is empty"]),
        (["--sources", "A,"], ["--sources 'A,': a name is empty"]),
        (["--sources", "a\x07b"], ["--sources", "cannot be printed"]),
        (["--sources", "a,b", "--exclude", "a,"], ["--exclude 'a,': a name is empty"]),
        (["--sources", "a,b", "--group", "x=a:0..1", "--group", "x=b"], ["--group x=b", "given twice"]),
        (["--sources", "a,b", "--group", "x=a:0..2"], ["--group x=a:0..2", "between 0 and 1"]),
        (["--sources", "a,b", "--caps", "a=nan"], ["--caps a=nan", "between 0 and 1"]),
        (["--at", "nan"], ["'--at'", "'nan' is not a whole number"]),
        (["--profile", "full"], ["--profile needs a SCENARIO"]),
        (["--scale", "0.5"], ["--scale needs a SCENARIO"]),
        (["--set", "run.steps=5"], ["--set needs a SCENARIO"]),
        (["--seed", "0"], ["--seed needs a SCENARIO"]),
        (["--plugin", "x"], ["--plugin needs a SCENARIO"]),
        (["--figure", ""], ["--figure", "must end in .svg or .html"]),
        (
            ["--sources", "a,b", "--floors", "a=0.4", "--group", "x=a:0..0.3"],
            ["floor 0.4 of a (--floors) is more than group cap 0.3"],
        ),
        (["--sources", "a,b", "--floors", "a"], ["--floors a: must be SOURCE=NUMBER"]),
        (["--sources", "a,b", "--floors", "a=x"], ["--floors a=x", "is not a number"]),
        (["--sources", "a,b", "--floors", "a=2"], ["between 0 and 1"]),
        (["--sources", "a,b", "--floors", "a=.1", "--floors", "a=.2"], ["'a' is given twice"]),
        (["--sources", "a,b", "--group", "a+b"], ["must be NAME=A+B"]),
        (["--sources", "a,b", "--group", "x=a+b:1"], ["bounds must be L..U"]),
        (["--sources", "a,b", "--group", "x=a+b:0..y"], ["'y' is not a number"]),
        (["--sources", "a,a"], ["named twice"]),
        (["--sources", ""], ["at least one source"]),
        (["--stage", "polish"], ["--stage needs a SCENARIO"]),
        (["TINY", "--sources", "a"], ["--sources goes without SCENARIO"]),
        (["TINY", "--stage", "polis"], ["no stage is called 'polis'", "did you mean 'polish'"]),
        (["TINY", "--at", "99"], ["--at 99", "40 steps"]),
        (["nowhere.toml"], ["nowhere.toml"]),
        (["--figure", "x.png"], ["must end in .svg or .html"]),
        (["--figure", "no/such/folder/x.svg"], ["cannot be written"]),
    ],
)
def test_bad_input_is_one_message_and_exit_2(tiny, tmp_path, monkeypatch, capfd, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capfd, *[tiny if argument == "TINY" else argument for argument in arguments])

    assert code == 2
    assert "Traceback" not in err
    assert err.count("error") <= 1
    for word in words:
        assert word in err


def test_the_place_of_the_picture_is_looked_at_before_anything_is_printed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(capfd, *QUADRILATERAL, "--figure", "no/x.svg")

    assert (code, out) == (2, "")


def test_lines_have_no_trailing_blanks_and_one_source_is_not_several(capfd):
    _, out, _ = call(capfd, "--sources", "a")

    assert "1 of 1 source open" in out
    assert "accepted" not in out
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
    assert "vertices" in [line.strip() for line in out.splitlines()]


def test_three_open_sources_make_a_triangle_with_groups_too(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    _, out, _ = call(capfd, "--sources", "a,b,c", "--group", "x=a+b:0.2..0.9", "--figure", "x.svg")
    assert out.splitlines()[-1] == "figure  x.svg"
    assert "squares: vertices" in (tmp_path / "x.svg").read_text(encoding="utf-8")

    _, out, _ = call(capfd, "--sources", "a,b,c,d", "--figure", "y.svg")
    assert out.splitlines()[-1].endswith("(parallel coordinates: a triangle needs three corners, not 4 open sources)")


def test_rows_are_shown_as_stated_and_tighten_by_name(tiny, capfd):
    row_ = "{ coefficients = { birds = 1, ships = -2 }, at_most = 0 }"
    code, out, err = call(
        capfd, tiny, "--stage", "all", "--set", f'constraints=[{{ use = "linear", rows = [{row_}] }}]'
    )

    assert code == 0, err
    assert row(out, "birds - 2 ships")[:2] == ["birds - 2 ships", "0"]
    assert "inf" not in out
    assert row(out, "birds")[2:4] == ["0.6667*", "birds - 2 ships"]

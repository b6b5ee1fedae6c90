"""Pictures of regions: what they show, exactly where, and that the pages' figures are current."""

import math
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from andrea_core import Region
from andrea_core.cli import main
from andrea_core.errors import AndreaError
from andrea_core.report.region_shape import DRAWS, picture
from andrea_core.report.region_svg import svg
from andrea_core.simplex.groups.stated import Group

SVG = "{http://www.w3.org/2000/svg}"
QUADRILATERAL = ("--sources", "H,G,D", "--floors", "H=0.5", "--caps", "D=0.25")
ROOT = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2]))
DIET = "hermes3-general+hermes3-creative+hermes3-roleplay+chat+smoltalk+oasst+gutenberg"
FIGURES = {
    "quadrilateral.svg": QUADRILATERAL,
    "three-geometries.svg": ("scenarios/v3_polish.toml",),
    "three-shadows.svg": (
        *("scenarios/v3_polish.toml", "--group", f"diet={DIET}", "--group", "repo=repo-docs+repo-docstrings"),
    ),
}


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of `andrea region` in this process."""
    with pytest.raises(SystemExit) as stopped:
        main(["region", *map(str, arguments)])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


def numbers(text):
    """A text without its numbers, and the numbers."""
    parts = re.split(r"(-?\d+(?:\.\d+)?)", text)
    return parts[::2], [float(part) for part in parts[1::2]]


def area(polygon):
    x, y = polygon.T
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def test_three_sources_make_a_triangle_with_the_polygon_at_its_exact_place(tmp_path, capfd):
    file = tmp_path / "q.svg"
    code, out, _ = call(capfd, *QUADRILATERAL, "--figure", file)
    tree = ElementTree.parse(file).getroot()
    outline = [np.array(p.get("points").replace(",", " ").split(), float).reshape(-1, 2)
               for p in tree.iter(f"{SVG}polygon")]  # fmt: skip
    triangle, polygon = outline

    assert code == 0
    assert f"figure  {file}" in out
    assert area(polygon) / area(triangle) == pytest.approx(3 / 16, abs=2e-3)  # places are rounded to a tenth
    assert len(list(tree.iter(f"{SVG}rect"))) == 1 + 4  # the paper and the vertices
    assert {"H", "G", "D", "(0.5, 0.25, 0.25)"} <= {text.text for text in tree.iter(f"{SVG}text")}


def test_groups_and_the_rest_make_a_triangle_whose_draws_are_the_groups_sums():
    region = Region.of("abcde", groups=(Group(("a", "b"), 0.5, 0.9),))
    shown = picture({"r": region}, {"talk": ("a", "b"), "code": ("c",)})
    shape = shown.shapes[0]
    places = shown.plane.project(shape.draws)

    assert shown.labels == ("talk", "code", "rest")
    assert places[:, 1] == pytest.approx(shape.draws[:, :2].sum(axis=1) * math.sqrt(3) / 2)
    assert shape.outline[:, 1].min() == pytest.approx(0.5 * math.sqrt(3) / 2)
    assert shape.outline[:, 1].max() == pytest.approx(0.9 * math.sqrt(3) / 2)
    assert shape.corners is None


def test_more_than_three_sources_make_parallel_axes_with_a_panel_a_stage(tmp_path, capfd):
    file = tmp_path / "p.svg"
    names = ",".join("abcde")
    call(capfd, "--sources", names, "--exclude", "e", "--caps", "a=0.5", "--figure", file)
    tree = ElementTree.parse(file).getroot()
    bars = [bar for bar in tree.iter(f"{SVG}rect") if bar.get("rx")]

    assert len(bars) == 4
    assert float(bars[0].get("height")) == pytest.approx(190 * math.sqrt(0.5), abs=0.1)
    assert len(list(tree.iter(f"{SVG}polyline"))) == 120
    assert set("abcde") <= {text.text for text in tree.iter(f"{SVG}text")}


def test_draws_are_legal_and_names_are_escaped():
    region = Region.of(("<a>", "b&b", "c", "d"), caps={"<a>": 0.5})
    shown = picture({"one & two": region}, {})

    assert shown.plane is None
    assert len(shown.shapes[0].draws) == DRAWS
    assert all(region.contains(draw) for draw in shown.shapes[0].draws)
    texts = {text.text for text in ElementTree.fromstring(svg(shown)).iter(f"{SVG}text")}
    assert {"<a>", "b&b"} <= texts


def test_a_point_can_be_drawn_either_way():
    for names in ("abc", "abcd"):
        point = Region.of(names, floors={"a": 0.5, "b": 0.5})
        assert ElementTree.fromstring(svg(picture({"point": point}, {}))).tag == f"{SVG}svg"


@pytest.mark.parametrize("names", ["a,b,c", "a,b,c,d"])
def test_html_holds_a_figure_and_its_library(tmp_path, capfd, names):
    file = tmp_path / "f.html"
    code, _, _ = call(capfd, "--sources", names, "--floors", "a=0.2", "--figure", file)
    text = file.read_text(encoding="utf-8")

    assert code == 0
    assert "Plotly.newPlot" in text
    assert len(text) > 3_000_000
    assert ("parcoords" in text[-60_000:]) == (names == "a,b,c,d")


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_the_pages_are_what_the_command_draws(name, tmp_path, monkeypatch, capfd):
    file = tmp_path / name
    monkeypatch.chdir(ROOT)
    code, _, err = call(capfd, *FIGURES[name], "--figure", file)
    assert code == 0, err
    drawn, kept = (numbers(path.read_text(encoding="utf-8")) for path in (file, ROOT / "docs" / "figures" / name))

    assert drawn[0] == kept[0]
    assert drawn[1] == pytest.approx(kept[1], abs=0.11)  # rounded to a tenth; other CPUs differ in the last bits


def test_overlapping_groups_are_refused():
    with pytest.raises(AndreaError, match="'b' is in two groups"):
        picture({"r": Region.of("abcd")}, {"x": ("a", "b"), "y": ("b", "c")})

"""The page's scripts parse, and the ternary view's regions equal those computed from all vertices of the region."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from andrea_core import Region
from andrea_core.report.page import SCRIPTS

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs a JavaScript engine: install Node.js to run")
ASSETS = files("andrea_core.report").joinpath("assets")
NAMES = [f"s{k}" for k in range(6)]
CASES = [
    ({"floors": {"s0": 0.5}, "caps": {"s2": 0.25}}, [[0], [1], [2, 3, 4, 5]]),
    ({"floors": {"s0": 0.3, "s5": 0.1}, "caps": {"s1": 0.2}, "exclude": ["s4"]}, [[0, 1], [2], [3]]),
    ({"caps": {"s0": 0.4, "s1": 0.3, "s2": 0.35, "s3": 0.5}}, [[0], [1], [2]]),
]


def node(code: str) -> str:
    script = ASSETS.joinpath("reach.js").read_text(encoding="utf-8") + code
    done = subprocess.run([str(NODE), "-"], input=script, capture_output=True, text=True, check=True)
    return done.stdout


def place(points: np.ndarray) -> np.ndarray:
    shares = points / points.sum(axis=1, keepdims=True)
    return np.column_stack([shares[:, 2] + shares[:, 0] / 2, np.sqrt(0.75) * shares[:, 0]])


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_parses(name: str) -> None:
    text = ASSETS.joinpath(name).read_text(encoding="utf-8")
    code = f"new (require('vm').Script)({json.dumps(text)}); console.log('parsed')"
    done = subprocess.run([str(NODE), "-e", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "parsed"


@pytest.mark.parametrize(("bounds", "groups"), CASES)
def test_the_reach_of_three_groups_is_the_hull_of_all_vertices(
    bounds: dict[str, object], groups: list[list[int]]
) -> None:
    region = Region.of(NAMES, **bounds)  # type: ignore[arg-type]
    given = json.dumps([region.lower.tolist(), region.upper.tolist(), groups])
    found = np.array(json.loads(node(f"console.log(JSON.stringify(andreaReach.reach(...{given})))")))
    sums = np.column_stack([region.vertices()[:, group].sum(axis=1) for group in groups])
    exact = ConvexHull(place(sums[sums.sum(axis=1) > 1e-9]))
    drawn = ConvexHull(place(found))
    assert exact.volume == pytest.approx(drawn.volume, rel=1e-9)
    assert (place(found) @ exact.equations[:, :2].T + exact.equations[:, 2]).max() < 1e-9


def test_bounds_that_fix_the_three_groups_reach_one_point() -> None:
    lower, upper = [0.5, 0.3, 0.2], [0.5, 0.3, 0.2]
    code = f"console.log(JSON.stringify(andreaReach.reach({lower}, {upper}, [[0], [1], [2]])))"
    found = np.array(json.loads(node(code)))
    assert np.unique(found.round(9), axis=0) == pytest.approx(np.array([[0.5, 0.3, 0.2]]))

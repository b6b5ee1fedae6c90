"""The cost of probes: looks, seconds and passes add up, with shares of the run's time; nothing is said of none."""

import numpy as np
import pytest
import zarr

from andrea_core.report.probe_costs import cost_lines, costs_panel, measured_besides, probe_costs
from andrea_core.runs.store import open_run

PROBES = ("trace", "<b>odd</b>")
LOOKS = {
    "step": np.array([0, 9, 9]),
    "probe": np.array([1, 0, 1], np.int32),
    "seconds": np.array([0.5, 2.0, 1.5]),
    "losses": np.array([1, 0, 2]),
    "gradients": np.array([0, 1, 0]),
    "products": np.array([0, 1200, 0]),
}


@pytest.fixture
def folder(tmp_path, synthetic):
    folder = synthetic.write_run(tmp_path / "run", steps=200)
    group = zarr.open_group(folder / "run.zarr", mode="a").create_group("looks")
    synthetic.put(group, LOOKS)
    group["probe"].attrs["names"] = list(PROBES)
    return folder


def test_costs_add_up_by_probe_and_to_the_share_of_the_run(folder):
    run = open_run(folder)
    odd, trace = probe_costs(run)
    wall = run.phases["seconds"].sum()

    assert (odd.probe, odd.looks, odd.seconds, odd.losses, odd.products) == ("<b>odd</b>", 2, 2.0, 3, 0)
    assert (trace.probe, trace.looks, trace.seconds, trace.gradients, trace.products) == ("trace", 1, 2.0, 1, 1200)
    assert odd.share == trace.share == pytest.approx(2.0 / wall)
    assert measured_besides(run) == 0.0


def test_costs_are_told_in_words_and_in_the_report(folder):
    run = open_run(folder)
    odd, trace, both = cost_lines(run)
    panel = costs_panel(run)
    percent = f"{200 / run.phases['seconds'].sum():.1f}"

    assert odd == f"probe <b>odd</b>: 2 looks of 1.00 s, {percent} % of the run's time; 3 losses"
    assert trace.endswith("1 gradient, 1,200 Hessian-vector products")
    assert both.startswith("all probes: 4.0 s, ")
    assert panel is not None
    assert "&lt;b&gt;odd" in panel.html
    assert "<b>odd" not in panel.html
    assert panel.html.count("<tr>") == 3


def test_without_looks_nothing_is_said(tmp_path, synthetic):
    run = open_run(synthetic.write_run(tmp_path / "run", steps=200))
    assert cost_lines(run) == []
    assert costs_panel(run) is None

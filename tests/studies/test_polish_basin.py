"""Whether the polish of v3 widens the basin: width, curvature and loss against runs without one; needs the corpus."""

import csv
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from andrea_core import open_run
from andrea_core.runs.probing import Probing

ROOT = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2]))
TABLE = ROOT / "docs" / "records" / "polish-basin.csv"
PAGE, LANDSCAPE = TABLE.with_suffix(".md"), ROOT / "docs" / "landscape.md"
MARKS = ("<!-- from polish-basin.csv -->", "<!-- to here -->")
ARMS = ("with the polish", "without", "with against without")
SAID = {
    "heldout_bits": "held-out bits per byte",
    "heldout_width": "basin width at 0.1 nats",
    "heldout_width_relative": "basin width at a tenth of the loss",
    "heldout_curvature": "largest curvature",
}
PIVOT, END = 1126, 2000
SEEDS = (1, 2, 3, 4, 5)
SHARED = ["--set", "run.checkpoint_every=563", "--set", "run.keep_checkpoints=9", "--threads", "1"]
"""Keeps the checkpoint of the pivot; it changes no step."""

KEYS = ("seed", "run", "step")
NUMBERS = (
    *("heldout_bits", "heldout_bits_error"),
    *(f"{side}_{name}" for side in ("heldout", "train") for name in ("loss", "width", "width_error", "width_relative",
      "width_relative_error", "curvature", "curvature_residual")),
)  # fmt: skip
SHOWN = ("heldout_bits", "heldout_loss", "heldout_width", "heldout_width_relative", "heldout_curvature",
         "train_loss", "train_width", "train_width_relative", "train_curvature")  # fmt: skip


def runs(tmp_path):
    """Return where the runs are: a folder named by ANDREA_STUDY_RUNS keeps them, so that none is trained twice."""
    return Path(os.environ.get("ANDREA_STUDY_RUNS", tmp_path.parent))


def trained(folder, seed):
    """Train v3 and, from its pivot on, the same run without a polish (v2), unless they are there; return both."""
    polished, control, scenarios = folder / f"v3-{seed}", folder / f"v2-{seed}", ROOT / "scenarios"
    if not polished.exists():
        andrea("run", scenarios / "v3_polish.toml", "--seed", seed, *SHARED, "--out", polished)
    if not control.exists():
        andrea("fork", f"{polished}@{PIVOT}", scenarios / "v2_warmup.toml", "--seed", seed, *SHARED, "--out", control)
    return polished, control


def andrea(*arguments):
    command = [sys.executable, "-m", "andrea_core", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def measured(polished, control, seed):
    """Return the rows of a seed: the pivot, which both share, the end with the polish and that without."""
    return [
        {"seed": seed, "run": name, "step": step, **numbers}
        for name, folder, steps in (("polish", polished, [PIVOT, END]), ("control", control, [END]))
        for step, numbers in looked(folder, steps).items()
    ]


def looked(folder, steps):
    """Return what the laptop profile's probes find in checkpoints, by step: with more draws, on text trained on too."""
    found = {step: {} for step in steps}
    for side in ("heldout", "train"):
        names = ["basin_width", "sharpness", *(["heldout"] if side == "heldout" else [])]
        settings = [f"basin_width.side={side}", "basin_width.trace=0", "basin_width.draws=8"]
        settings += [f"sharpness.side={side}", "sharpness.smallest=false"]
        settings += ["heldout.tokens=4096"] if "heldout" in names else []
        for look in Probing.of(folder, steps, names, settings, (), threads=1).looks():
            found[look.step] |= numbers_of(look.findings.measured, side)
    return found


def numbers_of(measured_, side):
    basin, sharp = measured_["basin_width"], measured_["sharpness"]
    assert {one.status for one in (*basin.values(), *sharp.values())} == {"ok"}
    found = {f"{side}_loss": basin["loss"].value}
    found |= {f"{side}_{name}": one.value for name, one in basin.items() if name.startswith("width")}
    found |= {f"{side}_curvature": sharp["largest"].value, f"{side}_curvature_residual": sharp["residual"].value}
    if "heldout" in measured_:
        bits, errors = (
            np.asarray(measured_["heldout"][name].value) for name in ("bits_per_byte", "bits_per_byte_error")
        )
        found |= {"heldout_bits": bits.mean(), "heldout_bits_error": math.sqrt((errors**2).sum()) / len(errors)}
    return found


def write(rows, path):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*KEYS, *NUMBERS))
        writer.writerows([*(row[key] for key in KEYS), *(f"{row[name]:.5g}" for name in NUMBERS)] for row in rows)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(int(row["seed"]), row["run"], int(row["step"])): {n: float(row[n]) for n in NUMBERS} for row in rows}


def is_size(name):
    return "width" in name or "curvature" in name


def differences(table, name):
    """Return, by what is compared, the differences of a number, a seed each; of logarithms when it is a size."""
    log = is_size(name)
    value = {key: math.log(row[name]) if log else row[name] for key, row in table.items()}
    both = sorted({seed for seed, run, _ in table if run == "control"})
    change = {seed: value[seed, "polish", END] - value[seed, "polish", PIVOT] for seed in sorted({k[0] for k in table})}
    without = {seed: value[seed, "control", END] - value[seed, "polish", PIVOT] for seed in both}
    return {
        "polish": np.array(list(change.values())),
        "control": np.array(list(without.values())),
        "difference": np.array([change[seed] - without[seed] for seed in both]),
    }


def interval(values):
    """Return the mean, and the ends of its 95 % interval (Student); NaN for a single value."""
    mean = values.mean()
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def verdict(table, name="heldout_width"):
    """Return whether the polish left a larger size than going on without it: yes, no or undecided.

    With fewer seeds than were planned nothing is decided: to stop where an interval happens to be narrow is to choose.
    """
    values = differences(table, name)["difference"]
    _, low, high = interval(values)
    return "undecided" if len(values) < len(SEEDS) else "yes" if low > 0 else "no" if high < 0 else "undecided"


def cell(values, *, log):
    shown = [math.expm1(value) * 100 for value in interval(values)] if log else interval(values)
    mean, low, high = (f"{value:+.1f} %" if log else f"{value:+.3f}" for value in shown)
    return mean if "nan" in low else f"{mean} [{low}, {high}]"


def page(table):
    """Return the tables of docs/records/polish-basin.md: the means at the three places, and the changes."""
    seeds = sorted({seed for seed, _, _ in table})
    places = (("polish", PIVOT), ("polish", END), ("control", END))
    lines = [f"Seeds {', '.join(map(str, seeds))}. Means over the seeds:", ""]
    lines += ["| | before the pivot | end, with polish | end, without |", "| --- | ---: | ---: | ---: |"]
    for name in SHOWN:
        means = [np.mean([table[seed, run, step][name] for seed in seeds]) for run, step in places]
        lines.append(f"| {name} | {' | '.join(f'{mean:.4g}' for mean in means)} |")
    lines += [
        "",
        "Changes from the pivot on, with 95 % intervals over the seeds (sizes as ratios, losses as differences):",
    ]
    lines += ["", f"| | {' | '.join(ARMS)} |", "| --- | ---: | ---: | ---: |"]
    for name in SHOWN:
        cells = [cell(values, log=is_size(name)) for values in differences(table, name).values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"The polish leaves a wider basin on held-out text: {verdict(table)}."])


def summary(table):
    """Return what docs/landscape.md says of the table, between its two marks."""
    seeds = sorted({seed for seed, _, _ in table})
    lines = [f"| changes after the pivot, seeds {', '.join(map(str, seeds))} | {' | '.join(ARMS)} |"]
    lines.append("| --- | ---: | ---: | ---: |")
    for name, said in SAID.items():
        cells = [cell(values, log=is_size(name)) for values in differences(table, name).values()]
        lines.append(f"| {said} | {' | '.join(cells)} |")
    few = len(seeds) < len(SEEDS)
    missing = (
        f" It has {len(seeds)} of the {len(SEEDS)} seeds that were planned, so nothing is decided yet." if few else ""
    )
    return "\n".join([*lines, "", f"Does the polish leave a wider basin? By this table: *{verdict(table)}*.{missing}"])


def marked(text, block):
    """Return a text with what stands between the marks replaced."""
    before, rest = text.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{block}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def test_the_pages_say_what_the_committed_table_says():
    table = read(TABLE)

    for path, say in ((PAGE, page), (LANDSCAPE, summary)):
        text = path.read_text(encoding="utf-8")
        assert marked(text, say(table)) == text


@pytest.mark.study
def test_new_runs_give_the_same_verdict_and_the_table_is_written_anew(tmp_path):
    rows = [row for seed in SEEDS for row in measured(*trained(runs(tmp_path), seed), seed)]
    before = read(TABLE)
    write(rows, TABLE)
    for path, say in ((PAGE, page), (LANDSCAPE, summary)):
        path.write_text(marked(path.read_text(encoding="utf-8"), say(read(TABLE))), encoding="utf-8")

    if len(before) == len(rows):  # else the committed table has fewer seeds, and is no match
        assert verdict(read(TABLE)) == verdict(before)


@pytest.mark.study
def test_the_run_itself_records_what_its_checkpoints_say(tmp_path):
    folder, _ = trained(runs(tmp_path), SEEDS[-1])
    run = open_run(folder)
    looks = list(Probing.of(folder, [PIVOT, END], ["basin_width", "sharpness"], (), (), threads=1).looks())

    for name, number in (("basin_width", "width"), ("sharpness", "largest")):
        assert run.probes[name]["step"].tolist() == [PIVOT, END]
        stored = [look.findings.measured[name][number].value for look in looks]
        np.testing.assert_array_equal(run.probes[name][number], stored)
    assert np.isfinite(run.evals["bits_per_byte_error"]).all()

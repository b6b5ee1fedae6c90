"""The table of a race: policies by regret, with intervals of paired differences, as text, CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from andrea_core.simulator.race import CONTROLS, Heat
from andrea_core.simulator.verdict import Verdict
from andrea_core.values import Vector

LEVEL = 0.95
"""How sure intervals are, each taken by itself."""


@attrs.frozen
class Estimate:
    """A mean over seeds and half the width of its interval: Student's t on the values, NaN for a single seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float] | Vector) -> "Estimate":
        """Return the estimate of values, one a seed."""
        count = len(values)
        if count < 2:
            return cls(float(np.mean(values)), math.nan)
        from scipy.stats import t

        error = float(np.std(values, ddof=1)) / math.sqrt(count)
        return cls(float(np.mean(values)), float(t.ppf((1 + LEVEL) / 2, count - 1)) * error)

    @property
    def sign(self) -> int:
        """-1 or 1 when the interval lies below or above 0, else 0; a difference that never varies has its own sign."""
        if math.isnan(self.half) or abs(self.mean) <= self.half or abs(self.mean) < ROUNDING:
            return 0
        return -1 if self.mean < 0 else 1


FIELDS = tuple(field.name for field in attrs.fields(Verdict))
"""What a race writes down of each run."""
UNDECIDED = "undecided"
ROUNDING = 1e-9
"""Differences of regret below this are rounding."""


@attrs.frozen
class Standing:
    """A policy's place: regret, its difference to uniform's and to its own static mix's (same seeds), and more.

    `to_target` is the median of the steps until the loss was as low as uniform weights end, infinite where fewer than
    half of the seeds got there; `noise` the pure-noise sources' share of rows, NaN without any.
    """

    policy: str
    learns: bool
    regret: Estimate
    over_uniform: Estimate
    over_static: Estimate
    to_target: float
    noise: float

    @property
    def word(self) -> str:
        """How it stands against uniform weights; an interval that holds 0, or none, decides nothing."""
        if self.policy == CONTROLS[0]:
            return "-"
        return ("better", UNDECIDED, "worse")[self.over_uniform.sign + 1]


def standings(heats: Sequence[Heat], learning: Mapping[str, bool]) -> list[Standing]:
    """Return the policies by mean regret, the best first; every policy has the same seeds."""
    regrets = {name: _column(heats, name, "regret") for name in dict.fromkeys(heat.policy for heat in heats)}
    losses = {name: _column(heats, name, "loss") for name in regrets}  # what each is held to may differ by the walk
    found = [
        Standing(
            policy=name,
            learns=learning.get(name, False),
            regret=Estimate.of(regret),
            over_uniform=Estimate.of(losses[name] - losses[CONTROLS[0]]),
            over_static=Estimate.of(regret - _column(heats, name, "static_regret")),
            to_target=float(np.median(_steps(heats, name))),
            noise=float(np.mean(_column(heats, name, "noise_share"))),
        )
        for name, regret in regrets.items()
    ]
    return sorted(found, key=lambda one: one.regret.mean)


def _column(heats: Sequence[Heat], policy: str, field: str) -> Vector:
    return np.array([getattr(heat.verdict, field) for heat in heats if heat.policy == policy], np.float64)


def _steps(heats: Sequence[Heat], policy: str) -> list[float]:
    steps = [heat.verdict.steps_to_target for heat in heats if heat.policy == policy]
    return [math.inf if one is None else float(one) for one in steps]


def markdown(rows: Sequence[Standing], failed: Mapping[str, str] | None = None) -> str:
    """Return the table as Markdown; losses in thousandths of a nat a token.

    `failed` policies come last, and their reasons stand below.
    """
    noisy = any(not math.isnan(row.noise) for row in rows)
    head = ["policy", "learns", "regret", "minus uniform", "against uniform", "minus own static mix", "steps to target"]
    lines = [[*head, "noise share"] if noisy else head]
    for row in rows:
        cells = [
            row.policy,
            "yes" if row.learns else "no",
            milli(row.regret),
            milli(row.over_uniform) if row.policy != CONTROLS[0] else "0",
            row.word,
            milli(row.over_static),
            f"{row.to_target:,.0f}" if math.isfinite(row.to_target) else "never",
        ]
        lines.append([*cells, f"{100 * row.noise:.1f} %"] if noisy else cells)
    lines += [[policy, "-", "failed", *[""] * (len(lines[0]) - 3)] for policy in failed or {}]
    lines.insert(1, ["---", "---", *["---:"] * (len(lines[0]) - 2)])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    reasons = [f"* failed: {' '.join(reason.split())}\n" for reason in (failed or {}).values()]
    return "\n".join([table, "".join(reasons)]) if reasons else table


def milli(one: Estimate) -> str:
    """Return an estimate in thousandths."""
    half = "" if math.isnan(one.half) else f" ± {1000 * one.half:.1f}"
    return f"{round(1000 * one.mean, 1) + 0.0:.1f}{half}"  # what rounds to 0 has no sign


def summary(rows: Sequence[Standing]) -> str:
    """Return in a sentence how many of the policies that learn beat uniform weights."""
    learning = [row for row in rows if row.learns]
    lower = [row for row in learning if row.over_uniform.mean < 0]
    sure = [row for row in learning if row.over_uniform.sign < 0]
    found = f"{len(lower)} of {len(learning)} policies that learn have a lower mean regret than uniform weights"
    if all(math.isnan(row.regret.half) for row in rows):
        return f"{found}; one seed says nothing of others."
    return f"{found}, {len(sure)} of them with a {100 * LEVEL:.0f} % interval of the paired difference below 0."


def as_csv(heats: Sequence[Heat]) -> str:
    """Return every run as a row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["policy", "seed", *FIELDS])
    for heat in heats:
        writer.writerow([heat.policy, heat.seed, *(getattr(heat.verdict, field) for field in FIELDS)])
    return out.getvalue()


def from_csv(text: str) -> list[Heat]:
    """Return the heats that `as_csv` wrote, number for number; a last line that was cut off is left out."""
    whole = text[: text.rfind("\n") + 1]
    return [_read(row) for row in csv.DictReader(io.StringIO(whole))]


def _read(row: Mapping[str, str]) -> Heat:
    found: dict[str, Any] = {field: float(row[field]) for field in FIELDS if field != "steps_to_target"}
    steps = row["steps_to_target"]
    return Heat(row["policy"], int(row["seed"]), Verdict(**found, steps_to_target=int(steps) if steps else None))


def as_json(rows: Sequence[Standing], facts: Mapping[str, Any]) -> str:
    """Return the table with what it is of; what is no number is null."""
    plain = [attrs.asdict(row) | {"against_uniform": row.word} for row in rows]
    return json.dumps({**facts, "policies": _finite(plain)}, indent=1) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""What each probe of a run cost: looks, seconds, its share of the run's time, and passes over its text."""

from collections.abc import Sequence

import attrs
import numpy as np

from andrea_core.report.panel import Panel
from andrea_core.report.style import plain
from andrea_core.report.terminal import percent
from andrea_core.report.timing import PROBES, part_names
from andrea_core.runs.store import Run

COUNTS = ("losses", "gradients", "products")
WORDS = {
    "losses": ("loss", "losses"),
    "gradients": ("gradient", "gradients"),
    "products": ("Hessian-vector product", "Hessian-vector products"),
}


@attrs.frozen
class ProbeCost:
    """The cost of all looks of a probe: wall time in seconds, and its share of the run's, NaN where none is known."""

    probe: str
    looks: int
    seconds: float
    share: float
    losses: int
    gradients: int
    products: int


def probe_costs(run: Run) -> list[ProbeCost]:
    """Return the cost of each probe that looked, in the order of the first looks."""
    if not run.looks.has("probe", "seconds", *COUNTS):
        return []
    names, wall, seconds = run.looks.decoded("probe"), run_seconds(run), run.looks["seconds"]
    of_probe = {name: np.array([one == name for one in names]) for name in dict.fromkeys(names)}
    return [
        ProbeCost(
            str(name),
            int(mine.sum()),
            float(seconds[mine].sum()),
            float(seconds[mine].sum() / wall) if wall > 0 else float("nan"),
            *(int(run.looks[count][mine].sum()) for count in COUNTS),
        )
        for name, mine in of_probe.items()
    ]


def run_seconds(run: Run) -> float:
    """Return the wall time of all phases in seconds, probes and all; 0 where no times were recorded."""
    return float(np.nansum(run.phases["seconds"])) if run.phases.has("seconds") else 0.0


def measured_besides(run: Run) -> float:
    """Return the seconds of what is measured for policy and reward, which the record books as the probes'; at least 0.

    Looks before the first phase and after the last are no phase's, so that rounding is all that can go below.
    """
    if not run.phases.has("seconds") or PROBES not in (names := part_names(run)):
        return 0.0
    booked = float(np.nansum(run.phases["seconds"][:, names.index(PROBES)]))
    return max(0.0, booked - sum(cost.seconds for cost in probe_costs(run)))


def cost_lines(run: Run) -> list[str]:
    """Return a line a probe: how often it looked, how long it took, and its share of the run's wall time."""
    costs = probe_costs(run)
    lines = [
        f"probe {cost.probe}: {cost.looks} look{'' if cost.looks == 1 else 's'} of {cost.seconds / cost.looks:.2f} s, "
        f"{percent(cost.share)} % of the run's time{_passes(cost)}"
        for cost in costs
    ]
    if len(costs) > 1:
        total, wall = sum(cost.seconds for cost in costs), run_seconds(run)
        share = f", {percent(total / wall)} % of the run's {wall:.1f} s" if wall > 0 else ""
        lines.append(f"all probes: {total:.1f} s{share}")
    return lines


def costs_panel(run: Run) -> Panel | None:
    """Return the probes' costs as a table; None where none looked."""
    costs = probe_costs(run)
    if not costs:
        return None
    heads = ("looks", "s a look", "s in all", "% of the run", *(WORDS[count][1] for count in COUNTS))
    head = "<th>probe</th>" + "".join(f'<th class="n">{text}</th>' for text in heads)
    body = "".join(_row(plain(cost.probe), _cells(cost)) for cost in costs)
    besides = measured_besides(run)
    more = "Losses, gradients and products with the Hessian are passes over a probe's text."
    if besides > 0.01:
        more += f" What policy and reward had measured besides took {besides:.1f} s."
    html = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return Panel("probe-costs", "What the probes cost", "Wall time of each probe's looks.", more, html=html)


def _cells(cost: ProbeCost) -> Sequence[str]:
    times = (f"{cost.seconds / cost.looks:.2f}", f"{cost.seconds:.1f}", percent(cost.share))
    return (str(cost.looks), *times, *(f"{getattr(cost, count):,}" for count in COUNTS))


def _row(name: str, cells: Sequence[str]) -> str:
    columns = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    return f"<tr><td>{name}</td>{columns}</tr>"


def _passes(cost: ProbeCost) -> str:
    counted = [(getattr(cost, count), *WORDS[count]) for count in COUNTS]
    words = [f"{number:,} {one if number == 1 else many}" for number, one, many in counted if number]
    return f"; {', '.join(words)}" if words else ""

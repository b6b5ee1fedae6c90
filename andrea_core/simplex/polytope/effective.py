"""How far each weight of a region with rows really reaches, by linear programs, and which rows keep it from more."""

from collections.abc import Sequence

import numpy as np

from andrea_core.simplex.box import Box, frozen
from andrea_core.simplex.checking import Effective
from andrea_core.simplex.polytope import lp
from andrea_core.simplex.polytope.lp import FEASIBLE, Rows


def effective(rows: Rows, box: Box, labels: Sequence[str], reasons: tuple[Sequence[str], Sequence[str]]) -> Effective:
    """Return the reach of each weight, two programs each; a bound that no row tightens keeps its value and reason.

    Right to the solver's tolerance, about 1e-9; `labels` name the rows.
    """
    ends = [np.array(box.lower), np.array(box.upper)]
    why = [list(reasons[0]), list(reasons[1])]
    matrix, limits = rows.one_sided()
    names = [labels[k] for k in (*np.flatnonzero(np.isfinite(rows.high)), *np.flatnonzero(np.isfinite(rows.low)))]
    for i in box.free if not box.is_point else ():
        for side, sign in ((0, 1.0), (1, -1.0)):
            cost = np.zeros(len(box.lower))
            cost[i] = sign
            found = lp.priced(cost, matrix, limits, box)
            reach = min(max(float(found.weights[i]), float(box.lower[i])), float(box.upper[i]))
            if abs(reach - ends[side][i]) > FEASIBLE:
                ends[side][i] = reach
                binding = dict.fromkeys(names[k] for k in np.flatnonzero(np.abs(found.prices) > FEASIBLE))
                why[side][i] = "implied by " + " and ".join(binding) if binding else "implied by the other bounds"
    return Effective(frozen(ends[0]), frozen(ends[1]), tuple(why[0]), tuple(why[1]))

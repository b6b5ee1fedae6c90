"""The trace of a symmetric operator from random vectors, with its standard error and its parts by block.

Shape suffixes: n rows of the operator, s samples.
"""

from collections.abc import Mapping, Sequence

import attrs
import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from andrea_core.landscape.budget import NONFINITE, OK, OVER_BUDGET, Budget
from andrea_core.landscape.hessian import Operator


@attrs.frozen(eq=False)
class Estimate:
    """A mean of independent unbiased samples; `error` is its standard error, NaN for fewer than two samples."""

    value: float
    error: float
    samples: int
    status: str

    @classmethod
    def of(cls, samples: Sequence[float], status: str, shift: float = 0.0) -> "Estimate":
        """Return the estimate of samples, each `shift` below what is estimated."""
        count, found = len(samples), np.array(samples)
        error = float(found.std(ddof=1)) / count**0.5 if count > 1 else float("nan")
        return cls(float(found.mean()) + shift if count else float("nan"), error, count, status)


def rademacher(size: int, rng: Generator) -> Tensor:
    """Return independent signs (size,) as float32, the same on every device."""
    return torch.from_numpy(rng.integers(0, 2, size, np.int8).astype(np.float32) * 2 - 1)


def hutchinson(
    operator: Operator, like: Tensor, blocks: Mapping[str, Sequence[slice]], draws: int, budget: Budget, rng: Generator
) -> tuple[Estimate, dict[str, Estimate]]:
    """Return tr H and the traces of diagonal blocks from z' H z for random signs z (Hutchinson 1990).

    E z' H z = tr H with variance 2 (|H|_F^2 - sum_i H_ii^2); a block's sample is the part of the sum in its rows, which
    is as unbiased. `like` (n,) has the type and device of the operator's vectors; `blocks` names rows.
    """
    totals: list[float] = []
    parts: dict[str, list[float]] = {name: [] for name in blocks}
    status = OK
    for _ in range(draws):
        if not budget.take():
            status = OVER_BUDGET
            break
        signs = rademacher(like.numel(), rng).to(like)
        terms = (signs * operator(signs)).double()
        if not bool(torch.isfinite(terms).all()):
            status = NONFINITE
            break
        totals.append(float(terms.sum()))
        for name, rows in blocks.items():
            parts[name].append(sum(float(terms[place].sum()) for place in rows))
    return Estimate.of(totals, status), {name: Estimate.of(found, status) for name, found in parts.items()}


def hutch_plus_plus(operator: Operator, like: Tensor, draws: int, budget: Budget, rng: Generator) -> Estimate:
    """Return tr H exactly on a sketched subspace and by random signs on the rest (Meyer et al. 2021, 2010.09649).

    A third of the `draws` products sketch the range Q, a third give tr Q' H Q, and a third z' P H P z with P = 1 - QQ'.
    The standard error is that of the last part alone, the only random one given Q. Memory: draws / 3 vectors (n,).
    """
    third = max(1, min(draws // 3, like.numel()))
    sketch: list[Tensor] = []
    for _ in range(third):
        if not budget.take():
            return Estimate.of([], OVER_BUDGET)
        sketch.append(operator(rademacher(like.numel(), rng).to(like)))
    columns = torch.stack(sketch, 1)
    if not bool(torch.isfinite(columns).all()):
        return Estimate.of([], NONFINITE)
    basis = torch.linalg.qr(columns)[0]
    caught = 0.0
    for column in basis.T:
        if not budget.take():
            return Estimate.of([], OVER_BUDGET)
        caught += float(column @ operator(column))
    return _rest(operator, basis, caught, third, budget, rng)


def _rest(operator: Operator, basis: Tensor, caught: float, draws: int, budget: Budget, rng: Generator) -> Estimate:
    samples: list[float] = []
    status = OK
    for _ in range(draws):
        if not budget.take():
            status = OVER_BUDGET
            break
        signs = rademacher(len(basis), rng).to(basis)
        outside = signs - basis @ (basis.T @ signs)
        samples.append(float(outside @ operator(outside)))
    if not np.isfinite([caught, *samples]).all():
        return Estimate.of([], NONFINITE)
    return Estimate.of(samples, status, shift=caught)


def block_rows(slices: Mapping[str, slice], block_of: Mapping[str, str]) -> dict[str, list[slice]]:
    """Return the rows of each block, given those of each parameter and the parameters' blocks."""
    rows: dict[str, list[slice]] = {}
    for name, place in slices.items():
        rows.setdefault(block_of[name], []).append(place)
    return rows

"""Lanczos with full re-orthogonalisation: extreme eigenpairs of a symmetric operator, and what the spectrum is made of.

Shape suffixes: n rows of the operator, m steps taken, k pairs.
"""

import math
from collections.abc import Iterator

import attrs
import numpy as np
import torch
from numpy.random import Generator
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from andrea_core.landscape.budget import NONFINITE, NOT_CONVERGED, OK, OVER_BUDGET, Budget
from andrea_core.landscape.hessian import Operator
from andrea_core.values import Vector

ROWS = 8
"""Basis vectors that are allocated together: one product with them instead of eight."""

AT_ONCE = 2**20
"""Entries that are held in float64 together."""


@attrs.frozen(eq=False)
class Eigenpairs:
    """Eigenvalues (k,), descending, the vectors (k, n) as rows, and |H v - lambda v| (k,) for unit v.

    `asymmetry` is the largest |u'Hv - v'Hu| of successive basis vectors over the largest |lambda|: rounding, unless the
    operator is wrong or random. A residual bounds the distance to the nearest true eigenvalue. `which` (k,) counts from
    the largest: 0, 1, ..., and -1 for the smallest.
    """

    values: Vector
    vectors: Tensor
    residuals: Vector
    which: tuple[int, ...]
    asymmetry: float
    status: str


class Lanczos:
    """The Krylov space of a start vector, one operator product a step (Lanczos 1950; twice Gram-Schmidt, Parlett 1998).

    Memory: m vectors (n,) of the start's type. An invariant subspace is left by a new random direction.
    """

    def __init__(self, operator: Operator, start: Tensor, rng: Generator) -> None:
        self._operator, self._rng = operator, rng
        self._blocks: list[Tensor] = []
        self._stored = 0
        self._next: Tensor | None = start / length(start)
        self.diagonal: list[float] = []
        self.below: list[float] = []  # below[i] couples step i to step i + 1
        self.finite = True
        self.asymmetry = 0.0  # the largest |u'Hv - v'Hu| of successive vectors
        self._last: tuple[Tensor, Tensor] | None = None  # the vector before, and its product

    @property
    def steps(self) -> int:
        """The number m of products taken."""
        return len(self.diagonal)

    @property
    def complete(self) -> bool:
        """Whether the whole space is spanned, so that everything is exact."""
        return self._next is None

    @property
    def closed(self) -> bool:
        """Whether the start's own Krylov space is spanned: what is added from now on it does not see."""
        return 0.0 in self.below

    def extend(self) -> None:
        """Take one more product; `finite` turns False, and nothing else happens, when it is not finite."""
        vector = self._next
        if vector is None:
            return
        product = self._operator(vector)
        if not bool(torch.isfinite(product).all()):
            self.finite = False
            return
        self._keep(vector)
        self.diagonal.append(inner(vector, product))
        if self._last is not None:
            last, its_product = self._last
            self.asymmetry = max(self.asymmetry, abs(inner(last, product) - inner(vector, its_product)))
        self._last = vector, product
        rest = self._orthogonal(product)
        size = length(rest)
        if size > length(product) * vector.numel() ** 0.5 * torch.finfo(vector.dtype).eps:
            self.below.append(size)
            self._next = rest / size
        else:
            self.below.append(0.0)
            self._next = self._fresh(vector)

    def ritz(self) -> tuple[Vector, Vector]:
        """Return the eigenvalues (m,) of the tridiagonal matrix, ascending, and their vectors (m, m) as columns."""
        values, vectors = eigh_tridiagonal(np.array(self.diagonal), np.array(self.below[:-1]))
        return np.asarray(values), np.asarray(vectors)

    def combine(self, columns: Vector) -> Tensor:
        """Return the combinations (k, n) of the basis with the coefficients (m, k)."""
        total: Tensor | None = None
        for index, block in enumerate(self._filled()):
            part = torch.from_numpy(columns[index * ROWS : index * ROWS + len(block)].T.copy()).to(block) @ block
            total = part if total is None else total + part
        assert total is not None
        return total

    def _fresh(self, like: Tensor) -> Tensor | None:
        if self._stored >= like.numel():
            return None
        rest = self._orthogonal(standard_normal(like.numel(), self._rng).to(like))
        return rest / length(rest)

    def _keep(self, vector: Tensor) -> None:
        place = self._stored % ROWS
        if place == 0:
            self._blocks.append(vector.new_empty(ROWS, vector.numel()))
        self._blocks[-1][place] = vector
        self._stored += 1

    def _orthogonal(self, vector: Tensor) -> Tensor:
        for _ in range(2):
            for block in self._filled():
                vector = vector - block.T @ (block @ vector)
        return vector

    def _filled(self) -> Iterator[Tensor]:
        for index, block in enumerate(self._blocks):
            yield block[: self._stored - index * ROWS]


def extreme_eigenpairs(
    operator: Operator,
    start: Tensor,
    *,
    largest: int,
    smallest: bool,
    tolerance: float,
    budget: Budget,
    rng: Generator,
) -> Eigenpairs:
    """Return the `largest` algebraically largest eigenpairs, and on request the smallest, from one Krylov space.

    It ends with status ok when every wanted pair's residual is at most `tolerance` of the largest magnitude; when the
    budget is spent, with what is known and over_budget; at a product that is not finite. An eigenvalue that occurs
    twice is found once, as by every method that starts from one vector. Raises ValueError when nothing is wanted.
    """
    if largest + smallest < 1:
        raise ValueError("no eigenpair is wanted")
    process = Lanczos(operator, start, rng)
    status = NOT_CONVERGED
    while status == NOT_CONVERGED:
        if process.complete:
            status = OK
        elif not budget.take():
            status = OVER_BUDGET
        else:
            process.extend()
            status = _judged(process, largest, smallest, tolerance)
    return _pairs(process, largest, smallest, status)


def inner(one: Tensor, other: Tensor) -> float:
    """Return the inner product of two vectors (n,), added up in float64 whatever their type.

    In float32 a length of 20 million entries is off by a thousandth, and with it every eigenvalue.
    """
    if one.device.type == "mps":  # it has no float64
        one, other = one.cpu(), other.cpu()
    parts = zip(torch.split(one, AT_ONCE), torch.split(other, AT_ONCE), strict=True)
    return sum(float(left.double() @ right.double()) for left, right in parts)


def length(vector: Tensor) -> float:
    """Return the length of a vector (n,), as `inner`."""
    return math.sqrt(inner(vector, vector))


def standard_normal(size: int, rng: Generator) -> Tensor:
    """Return independent standard normal numbers (size,) in float32, the same on every device."""
    return torch.from_numpy(rng.standard_normal(size, np.float32))


def _judged(process: Lanczos, largest: int, smallest: bool, tolerance: float) -> str:
    if not process.finite:
        return NONFINITE
    values, vectors = process.ritz()
    if len(values) < largest + smallest and not process.complete:
        return NOT_CONVERGED
    residuals = np.abs(vectors[-1]) * process.below[-1]
    wanted = _wanted(len(values), largest, smallest)
    return OK if (residuals[wanted] <= tolerance * np.abs(values).max()).all() else NOT_CONVERGED


def _wanted(count: int, largest: int, smallest: bool) -> list[int]:
    top = [count - 1 - index for index in range(min(largest, count))]
    return [*top, *([0] if smallest and 0 not in top else [])]


def _pairs(process: Lanczos, largest: int, smallest: bool, status: str) -> Eigenpairs:
    if process.steps == 0:
        nothing = np.empty(0)
        return Eigenpairs(nothing, torch.empty(0, 0), nothing, (), 0.0, status)
    values, vectors = process.ritz()
    residuals = np.abs(vectors[-1]) * process.below[-1]
    places = _wanted(len(values), largest, smallest)
    which = tuple(range(min(largest, len(values)))) + ((-1,) if len(places) > min(largest, len(values)) else ())
    return Eigenpairs(
        values=values[places],
        vectors=process.combine(vectors[:, places]),
        residuals=residuals[places],
        which=which,
        asymmetry=process.asymmetry / max(float(np.abs(values).max()), np.finfo(float).tiny),
        status=status,
    )

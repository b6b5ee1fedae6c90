"""Power series in the width for tilted coordinates: log mass, mean and variance, of many narrow ones at once.

With y = s u, s a complex tilt: log((1 - exp(-y)) / y) = -y/2 + sum over k of (-1)^(k+1) zeta(2k) / k (y / (2 pi))^(2k)
for |y| < 2 pi, from the product form of sinh; mean and variance are its derivatives by -s.
"""

import math
from typing import TypeVar

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.values import Integers, Vector

Complex = npt.NDArray[np.complex128]
Rows = TypeVar("Rows", Vector, Complex)


def _zeta(s: Vector, start: float = 50.0) -> Vector:
    """Return Riemann's zeta function at s (p,) >= 2 to rounding, by Euler and Maclaurin's formula."""
    head = np.power.outer(np.arange(start - 1.0, 0.0, -1.0), -s).sum(axis=0)
    corrections = s / (12.0 * start) * (1.0 - (s + 1.0) * (s + 2.0) / (60.0 * start**2))
    corrections += s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / (30240.0 * start**5)
    return np.asarray(start ** (1.0 - s) * (1.0 / (s - 1.0) + (0.5 + corrections) / start) + head)


LIMIT = 3.0
"""The largest |y| for which the series are used; the terms left out there are below rounding."""
_TURN = 2.0 * math.pi
ORDERS = 28
"""How many terms the series have: fewer narrow coordinates than that are cheaper one by one."""
_ORDER = np.arange(1.0, ORDERS + 1.0)
_LOG = -((-1.0) ** _ORDER) * _zeta(2.0 * _ORDER) / _ORDER
_MEAN = -2.0 * _ORDER * _LOG / _TURN
_VARIANCE = (2.0 * _ORDER - 1.0) * -_MEAN / _TURN


def product(u: Vector, counts: Integers, theta: float, s: Complex) -> Complex:
    """Return the characteristic function (T,) of the sum over widths u (d,) with counts, at complex tilts s (T,)."""
    scale = float(np.abs(s).max())
    share, z, real = u * scale, s / scale, theta / scale
    sums = np.append((_LOG * (_powers(share / _TURN, 0) @ counts))[::-1], 0.0)
    logs = np.polyval(sums, z * z) - np.polyval(sums, real * real)
    return np.asarray(np.exp(logs - 0.5 * float(counts @ share) * (z - real)))


@attrs.frozen(eq=False)
class Expansion:
    """What narrow coordinates (d,) are at complex tilts s (T,), as real coefficients (d, p) times rows (p, T).

    `mean` @ `odd` is each tilted mean less the one at the real tilt; `variance` @ `even` is each tilted variance.
    """

    mean: Vector
    odd: Complex
    variance: Vector
    even: Complex

    @classmethod
    def of(cls, u: Vector, theta: float, s: Complex) -> "Expansion":
        """Expand widths u (d,) around the real tilt theta."""
        scale = float(np.abs(s).max())
        share, z = u * scale / _TURN, s / scale
        odd = _powers(z, 1)
        odd -= _powers(np.array([theta / scale]), 1)
        mean, variance = u * _powers(share, 1), u * u * _powers(share, 2)
        return cls(mean.T * _MEAN, odd, variance.T * _VARIANCE, _powers(z, 2))

    def spread(self, sums: Vector) -> Vector:
        """Turn sums over the odd rows and further coordinates (p + w, ...) into ones over coordinates (d + w, ...)."""
        return np.concatenate([self.mean @ sums[: len(self.odd)], sums[len(self.odd) :]])


def near_zero(y: Complex) -> tuple[Complex, Complex]:
    """Return mean and variance of the density proportional to exp(-y x) on [0, 1], for |y| <= LIMIT."""
    square = (y / _TURN) ** 2
    mean = 0.5 + y / _TURN * np.polyval(_MEAN[::-1], square)
    return np.asarray(mean), np.asarray(np.polyval(_VARIANCE[::-1], square))


def _powers(x: Rows, less: int) -> Rows:
    """Return x to the powers 2k - less (p, N), k from 1."""
    rows: Rows = np.repeat((x * x)[None], ORDERS, axis=0)
    rows[0] = x ** (2 - less)
    np.cumprod(rows, axis=0, out=rows)
    return rows

"""The peers, each behind a call of the same shape; one that is not installed is said, not passed over."""

import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize

from andrea_core.simplex import Region

Solve = Callable[[np.ndarray], np.ndarray]


def solvers(region: Region, absent: Callable[[str], None]) -> dict[str, Solve]:
    """Return projections by other means: OSQP with polish and Clarabel, set up once or for each vector, and SLSQP."""
    made: dict[str, Solve] = {}
    for name, make in (("OSQP", _osqp), ("Clarabel", _clarabel)):
        try:
            made |= make(region)
        except ImportError:
            absent(name)
    return made | {"SLSQP": _slsqp(region)}


def _rows(region: Region) -> tuple[Any, Any]:
    n = len(region.names)
    return sparse.eye(n, format="csc"), sparse.vstack([np.ones((1, n)), sparse.eye(n)], format="csc")


def _osqp(region: Region) -> dict[str, Solve]:
    import osqp

    identity, rows = _rows(region)
    low, high = np.append(1.0, region.lower), np.append(1.0, region.upper)

    def fresh(v: np.ndarray) -> Any:
        solver = osqp.OSQP()
        options = {"verbose": False, "polishing": True, "eps_abs": 1e-9, "eps_rel": 1e-9}
        solver.setup(identity, -v, rows, low, high, **options)
        return solver

    kept = fresh(np.zeros(len(region.names)))

    def again(v: np.ndarray) -> np.ndarray:
        kept.update(q=-v)
        return np.asarray(kept.solve().x)

    return {"OSQP, set up once": again, "OSQP, each time": lambda v: np.asarray(fresh(v).solve().x)}


def _clarabel(region: Region) -> dict[str, Solve]:
    import clarabel

    n = len(region.names)
    identity = sparse.eye(n, format="csc")
    rows = sparse.vstack([np.ones((1, n)), -sparse.eye(n), sparse.eye(n)], format="csc")
    right = np.concatenate([[1.0], -region.lower, region.upper])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = settings.presolve_enable = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12

    def fresh(v: np.ndarray) -> Any:
        return clarabel.DefaultSolver(identity, -v, rows, right, cones, settings)

    kept = fresh(np.zeros(n))

    def again(v: np.ndarray) -> np.ndarray:
        kept.update(q=-v)
        return np.asarray(kept.solve().x)

    return {"Clarabel, set up once": again, "Clarabel, each time": lambda v: np.asarray(fresh(v).solve().x)}


def _slsqp(region: Region) -> Solve:
    bounds = np.column_stack([region.lower, region.upper])
    start, ones = region.centre, np.ones(len(region.names))
    equality = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: ones}

    def solve(v: np.ndarray) -> np.ndarray:
        found = minimize(
            lambda w: 0.5 * ((w - v) @ (w - v)),
            start,
            jac=lambda w: w - v,
            bounds=bounds,
            constraints=equality,
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return np.asarray(found.x)

    return solve


def linear_program(region: Region, scores: np.ndarray) -> np.ndarray:
    """Return the maximiser of scores * w by scipy's default solver, HiGHS."""
    bounds = np.column_stack([region.lower, region.upper])
    return np.asarray(linprog(-scores, A_eq=np.ones((1, len(scores))), b_eq=[1.0], bounds=bounds).x)


@contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def hopsy_seconds(region: Region, budget: float) -> dict[str, tuple[float, float]]:
    """Return seconds a draw and its effective number, by sampler, each given about `budget` seconds after set-up.

    The effective number of draws is the smallest over the sources, as hopsy reckons it.
    """
    with _quiet():
        import hopsy

        n = len(region.names)
        problem = hopsy.Problem(
            np.vstack([-np.eye(n), np.eye(n)]),
            np.concatenate([-region.lower, region.upper]),
            starting_point=region.centre,
        )
        problem = hopsy.add_equality_constraints(problem, np.ones((1, n)), np.ones(1))
        found = {}
        for name, proposal, thinning in (
            ("coordinate hit-and-run", hopsy.UniformCoordinateHitAndRunProposal, n),
            ("billiard walk", hopsy.BilliardWalkProposal, 1),
        ):
            chain = hopsy.MarkovChain(problem, proposal=proposal)
            rng = hopsy.RandomNumberGenerator(1)
            hopsy.sample(chain, rng, 20, thinning=thinning)
            spent, states = 0.0, []
            while spent < budget and sum(len(part) for part in states) < 20_000:
                start = time.process_time()
                states.append(hopsy.sample(chain, rng, 100, thinning=thinning)[1][0])
                spent += time.process_time() - start
            draws = np.concatenate(states)
            effective = float(np.min(hopsy.ess(draws[None, :, :])))
            found[name] = (spent / len(draws), effective / len(draws) if np.isfinite(effective) else 1.0)
        return found


def botorch_seconds(region: Region, draws: int) -> float:
    """Return seconds a draw of botorch's hit-and-run with its helper's default thinning of 32, burn-in left out."""
    with _quiet():
        import torch
        from botorch.utils.sampling import HitAndRunPolytopeSampler

        n = len(region.names)
        torch.set_num_threads(1)
        sampler = HitAndRunPolytopeSampler(
            bounds=torch.tensor(np.stack([region.lower, region.upper])),
            equality_constraints=(torch.ones(1, n, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)),
            n_burnin=0,
            n_thinning=32,
            seed=1,
        )
        sampler.draw(2)
        start = time.process_time()
        sampler.draw(draws)
        return (time.process_time() - start) / draws

"""Regressions from mixtures to losses, kept as numbers and texts: least squares, ridge on products, LightGBM."""

from typing import Any

import attrs
import numpy as np

from andrea_core import PluginError, ScenarioError, Vector

TREES, RATE, PATIENCE = 1000, 0.01, 3
"""RegMix's own settings of LightGBM: at most so many trees, learning rate, rounds without a gain before it stops."""
FEWEST = 40
"""Pilots that LightGBM needs: at its default a leaf holds 20 of them, so that fewer give no split."""
RIDGES = tuple(10.0**power for power in range(-8, 3))


@attrs.frozen(eq=False)
class Fitted:
    """A regression a loss: `kind`, and either coefficients (F, D) over features or one LightGBM text a loss."""

    kind: str
    coefficients: Vector
    texts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells two fits apart."""
        return self.kind, self.coefficients.tobytes(), self.texts

    def predict(self, weights: Vector) -> Vector:
        """Return the losses (N, D) that are foreseen at mixtures (N, K)."""
        if self.kind != "lightgbm":
            return np.asarray(features(self.kind, weights) @ self.coefficients)
        boosters = [_lightgbm().Booster(model_str=text) for text in self.texts]
        return np.column_stack([np.asarray(one.predict(weights, num_threads=1)) for one in boosters])


def fitted(kind: str, weights: Vector, losses: Vector, seed: int, who: str) -> Fitted:
    """Return the regression of losses (N, D) on mixtures (N, K); raises ScenarioError when there are too few pilots."""
    need = FEWEST if kind == "lightgbm" else 3
    if len(weights) < need:
        raise ScenarioError(
            f"{who}: {len(weights)} pilots are too few for the regressor {kind!r}; give at least {need}"
            + (', or set regressor = "quadratic"' if kind == "lightgbm" else "")
        )
    if kind == "lightgbm":
        return Fitted(kind, np.zeros((0, 0)), tuple(boosted(weights, loss, seed) for loss in losses.T))
    made = features(kind, weights)
    if kind == "linear":
        return Fitted(kind, np.asarray(np.linalg.lstsq(made, losses, rcond=None)[0], np.float64))
    return Fitted(kind, np.column_stack([ridge(made, loss) for loss in losses.T]))


def features(kind: str, weights: Vector) -> Vector:
    """Return 1 and the weights, (N, 1 + K); for "quadratic" also every product of two of them."""
    columns = [np.ones((len(weights), 1)), weights]
    if kind == "quadratic":
        first, second = np.triu_indices(weights.shape[1])
        columns.append(weights[:, first] * weights[:, second])
    return np.concatenate(columns, axis=1)


def ridge(made: Vector, losses: Vector) -> Vector:
    """Return ridge coefficients (F,) with the strength of the least leave-one-out error; column 0 is not shrunk.

    Features are scaled to one standard deviation first. The leave-one-out residual of row i is its residual over
    1 - h_i, with h_i the leverage.
    """
    centre, scale = made[:, 1:].mean(axis=0), made[:, 1:].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left, singular, right = np.linalg.svd((made[:, 1:] - centre) / scale, full_matrices=False)
    mean = float(losses.mean())
    turned = left.T @ (losses - mean)
    best, least = np.zeros(len(singular)), np.inf
    for strength in RIDGES:
        shrink = singular**2 / (singular**2 + strength * len(losses))
        rest = losses - mean - left @ (shrink * turned)
        leverage = (left**2 * shrink).sum(axis=1) + 1.0 / len(losses)
        error = float(np.mean((rest / np.maximum(1.0 - leverage, 1e-9)) ** 2))
        if error < least:
            best, least = shrink / np.maximum(singular, 1e-300) * turned, error
    slopes = right.T @ best / scale
    return np.concatenate([[mean - centre @ slopes], slopes])


def boosted(weights: Vector, losses: Vector, seed: int, judges: tuple[Vector, Vector] | None = None) -> str:
    """Return a LightGBM model as text, with RegMix's settings; `judges` are the rows by which it stops early.

    Without judges a fifth of the pilots, drawn by the seed, judges and is not fitted.
    """
    lightgbm = _lightgbm()
    if judges is None:
        order = np.random.default_rng(seed).permutation(len(losses))
        aside, kept = np.split(order, [len(order) // 5])
        weights, losses, judges = weights[kept], losses[kept], (weights[aside], losses[aside])
    options = {
        "objective": "regression",
        "metric": ["l1", "l2"],  # it stops when either no longer falls, as in the notebook
        "learning_rate": RATE,
        "seed": seed,
        "verbosity": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
    }
    train = lightgbm.Dataset(weights, label=losses)
    valid = lightgbm.Dataset(judges[0], label=judges[1], reference=train)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    booster = lightgbm.train(options, train, num_boost_round=TREES, valid_sets=[valid], callbacks=[stop])
    return str(booster.model_to_string(num_iteration=booster.best_iteration))


def _lightgbm() -> Any:
    try:
        import lightgbm
    except (ImportError, OSError) as error:  # OSError: a system library that it needs is missing
        raise PluginError(
            "policy regmix: the regressor 'lightgbm' needs the package lightgbm; install it with "
            "`pip install 'andrea[planner]'`, or set regressor = \"quadratic\""
        ) from error
    return lightgbm

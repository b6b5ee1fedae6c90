"""The noise trap for every reward and normaliser under UCB1: python benchmarks noise_trap [--seeds N] [--rewards A,B].

Source A's losses are N(3, 1) with nothing to learn; source B falls from 3 to 2 with its own pulls, spread .1. A row's
number is the share of 3,000 pulls that A gets, mean over seeds: above .5 the reward prefers noise, near .5 it says too
little beside UCB1's bonus, far under it it sees what can be learnt.
"""

import argparse
import sys
from pathlib import Path

import attrs
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "planted"))

from noise_world import share_of_noise

from andrea_plugins.rewards import ExcessLoss, GradientAlignment, HeldoutGain, Improvement, Loss, PredictionGain
from andrea_plugins.rewards.improvement import below_average, pull_losses
from andrea_plugins.rewards.normalisers import KINDS

ROOT2 = 2**0.5


@attrs.frozen(eq=False)
class Seen:
    average: np.ndarray  # (K,) moving average of the loss
    pulls: np.ndarray
    mean: np.ndarray  # of all losses
    squares: np.ndarray  # summed, about the mean


@attrs.frozen
class PositivePart:
    """The reward that scaling alone was to cure: max(0, average - loss) over the standard deviation of own losses."""

    needs = frozenset()

    def start(self, sources):
        return Seen(np.full(len(sources), np.nan), *np.zeros((3, len(sources))))

    def score(self, state, observation, rng):
        scores, average = below_average(pull_losses(observation), state.average, 0.1)
        loss = observation.loss_by_source()
        seen = np.isfinite(loss)
        way = np.where(seen, loss - state.mean, 0.0)
        pulls = state.pulls + seen
        mean = state.mean + way / np.maximum(pulls, 1)
        squares = state.squares + way * np.where(seen, loss - mean, 0.0)
        spread = np.sqrt(squares / np.maximum(pulls, 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            answer = np.maximum(scores[-1], 0.0) / spread
        return np.where(np.isfinite(answer), answer, np.nan), Seen(average, pulls, mean, squares)


def rows():
    """Yield (name, reward, normaliser, c) of the table."""
    bases = {
        "improvement": Improvement,
        "prediction_gain": PredictionGain,
        "heldout_gain": HeldoutGain,
        "gradient_alignment": GradientAlignment,
        "gradient_alignment, product": lambda **given: GradientAlignment(form="product", **given),
        "excess_loss, honest reference": lambda **given: ExcessLoss(reference={"A": 3.0, "B": 2.0}, **given),
        "excess_loss, positive": lambda **given: ExcessLoss(reference={"A": 3.0, "B": 2.0}, form="positive", **given),
        "excess_loss, reference too low for A": lambda **given: ExcessLoss(reference={"A": 1.0, "B": 2.0}, **given),
        "loss": Loss,
    }
    for name, make in bases.items():
        own = make().normaliser
        for kind in KINDS:
            yield name, make(normaliser=kind), kind + (" (default)" if kind == own else ""), ROOT2
    for c in (1.0, 100.0, 1000.0):
        yield "improvement, ANDREA's form", Improvement(form="andrea"), "x 1000", c
    for c in (0.1, 1.0, 2.0):
        yield "positive part by own spread", PositivePart(), "own", c


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rewards", default="", help="beginnings of rows to print, with commas between")
    given = parser.parse_args()
    wanted = tuple(given.rewards.split(","))
    print("| reward | normaliser | c | share of A | standard error |\n| --- | --- | --- | --- | --- |")
    for name, reward, kind, c in rows():
        if name.startswith(wanted):
            shares = [share_of_noise(reward, c, seed) for seed in range(given.seeds)]
            error = np.std(shares, ddof=min(1, given.seeds - 1)) / given.seeds**0.5
            print(f"| {name} | {kind} | {c:.4g} | {np.mean(shares):.3f} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()

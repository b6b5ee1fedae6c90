"""RegMix's own runs, refitted: rank correlations between foreseen and true losses, from a folder of its CSV files.

The folder holds train_mixture_1m.csv, train_pile_loss_1m.csv and test_mixture_N.csv, test_pile_loss_N.csv for N in 1m,
60m, 1B, as the authors publish them (512 + 256 + 256 + 64 runs). As in their notebook the 1M test rows also decide when
LightGBM stops, which leaks mildly; `--clean` sets a fifth of the training rows aside instead, as the policy does.
"""

import csv
from pathlib import Path

import click
import numpy as np
from scipy.stats import spearmanr

from andrea_plugins.policies.regressors import Fitted, boosted, fitted

SIZES = ("1m", "60m", "1B")


def table(path):
    """(columns after the index, the rows by index) of a CSV file."""
    with path.open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return header[1:], {row[0]: [float(cell) for cell in row[1:]] for row in rows}


def runs(folder, mixtures, losses):
    """(domains, weights (N, 17), losses (N, 13)) of the runs that both files know."""
    _, weights = table(folder / mixtures)
    domains, measured = table(folder / losses)
    both = [index for index in weights if index in measured]
    names = [name.removeprefix("metric/the_pile_").removesuffix("_val_loss") for name in domains]
    return names, np.array([weights[i] for i in both]), np.array([measured[i] for i in both])


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--clean", is_flag=True, help="Stop early by training rows that were set aside.")
def main(folder, clean):
    """Print Spearman's correlation x 100 for each domain and size, LightGBM and linear."""
    names, weights, losses = runs(folder, "train_mixture_1m.csv", "train_pile_loss_1m.csv")
    tests = {size: runs(folder, f"test_mixture_{size}.csv", f"test_pile_loss_{size}.csv") for size in SIZES}
    _, judge_weights, judge_losses = tests["1m"]
    texts = [
        boosted(weights, losses[:, i], 42, None if clean else (judge_weights, judge_losses[:, i]))
        for i in range(len(names))
    ]
    models = {"trees": Fitted("lightgbm", np.zeros((0, 0)), tuple(texts))}
    models |= {kind: fitted(kind, weights, losses, 42, "benchmark") for kind in ("linear", "quadratic")}
    columns = [(kind, size) for size in SIZES for kind in models]
    print("domain".ljust(20), *(f"{kind} {size}".rjust(14) for kind, size in columns))
    found = []
    for kind, size in columns:
        foreseen, true = models[kind].predict(tests[size][1]), tests[size][2]
        found.append([100 * spearmanr(foreseen[:, i], true[:, i]).statistic for i in range(len(names))])
    for i, name in enumerate([*names, "mean"]):
        row = [np.mean(column) if name == "mean" else column[i] for column in found]
        print(name.ljust(20), *(f"{value:14.2f}" for value in row))


if __name__ == "__main__":
    main()

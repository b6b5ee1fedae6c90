"""Where the wall time of a run goes: python benchmarks/overhead.py [SCENARIO] [--scale X] [--threads N].

Prints the share of data, model (forward, backward, optimiser), policy, recording (checkpoints included), probes, and of
everything that no account covers (display, loop). The bar: all but model and probes stays under 3 % of the wall time.
"""

import argparse
import tempfile
import time
from pathlib import Path

from andrea_core.assembly import new_run
from andrea_core.cli.console import display
from andrea_core.runs.store import open_run
from andrea_core.scenario import load
from andrea_core.stopwatch import ACCOUNTS

SCENARIO = Path(__file__).parents[1] / "scenarios" / "v3_polish.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENARIO)
    parser.add_argument("--scale", type=float, default=None)
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        progress = display()
        experiment = new_run(
            load(arguments.scenario, scale=arguments.scale), out, progress, device="cpu", threads=arguments.threads
        )
        names = experiment.director.sources.names
        start = time.perf_counter()
        progress.open("overhead", str(out), names, 0, experiment.total)
        experiment.run()
        progress.close()
        wall = time.perf_counter() - start
        experiment.folder.release()
        seconds = dict(zip(ACCOUNTS, open_run(out).phases["seconds"].sum(0), strict=True))
    seconds["not covered"] = wall - sum(seconds.values())
    for account, spent in seconds.items():
        print(f"{account:12} {spent:9.3f} s  {spent / wall:7.3%}")
    overhead = sum(spent for account, spent in seconds.items() if account not in ("model", "probes"))
    trained = sum(spent for account, spent in seconds.items() if account != "probes")
    print(f"{'wall':12} {wall:9.3f} s")
    print(f"overhead     {overhead / wall:.2%} of the wall time, {overhead / trained:.2%} of it without probes")


if __name__ == "__main__":
    main()

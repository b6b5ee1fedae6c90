"""Runs that are trained once for many tests, each of which works on a copy of its own."""

import shutil

from andrea_core.assembly import new_run
from andrea_core.progress import Progress
from andrea_core.scenario import load


def trained(scenario, out, *settings, **options):
    """Train a scenario to its end, into the folder `out`, which is returned."""
    experiment = new_run(load(scenario, settings=settings, **options), out, Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    return out


def copied(finished, scenario, out, *settings):
    """Return a copy of the run in `finished`, which is trained first if it is not there yet."""
    if not finished.exists():
        trained(scenario, finished, *settings)
    return shutil.copytree(finished, out)

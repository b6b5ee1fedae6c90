"""Every probe of the registry, looking often and for little; a probe that is added later looks with its defaults."""

from andrea_core.plugins import Catalogue

FEW = {
    "adam_sharpness": "tokens = 48, products = 4",
    "attention": "tokens = 12, shown = 6",
    "barrier": "points = 5, tokens = 48",
    "basin_width": "draws = 2, rounds = 1, trace = 2, tokens = 48, losses = 40, scaled = true",
    "cliff": "tokens = 32, history = 16, limit = 1.0",
    "connectivity": "points = 3, steps = 2, batch = 16, tokens = 48",
    "critical_sharpness": "forwards = 8, tokens = 48",
    "embedding": 'words = ["wren", "brig"]',
    "heldout": "tokens = 48",
    "memorisation": 'windows = 2, prefix = 8, verbatim = 4, canaries = ["wren 31415"], references = 7',
    "noise_scale": "windows = 6, small = 2",
    "path": "tokens = 48, sketch = 16",
    "perturbation_sharpness": "draws = 2, ascent = 2, rows = 2",
    "reward_audit": "tokens = 32, least = 4",
    "sharpness": "tokens = 48, k = 2, products = 4",
    "slices": 'directions = "path", points = 3, tokens = 48',
    "spectrum": "tokens = 48, vectors = 1, steps = 3, points = 16",
    "text_health": "tokens = 12, greedy = true, patience = 0",
    "trace": "tokens = 48, draws = 2",
}
"""Small budgets, with which a look of each takes milliseconds."""

BUSY = "at_start = true, every = 20, dense_until = 6, dense_every = 3, at_stage_borders = true, at_end = true"


def names():
    """Return the names of all built-in probes."""
    return tuple(Catalogue.of().table["probes"])


def all_probes(when=BUSY):
    """Return a scenario's `probes` line with all built-in probes, each looking at these times."""
    tables = (f'{{ use = "{name}", {when}{", " + FEW[name] if name in FEW else ""} }}' for name in names())
    return f"probes = [{', '.join(tables)}]"

"""The truths that ship: transfer, forgetting, noise, unlearnable, change_points, vertex_trap."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

import numpy as np

from andrea_core.errors import ScenarioError
from andrea_core.layers import Tree
from andrea_core.rng import generator

COMMITTED = 16
"""The number of sources whose matrices are in a file: the same numbers on every machine, for good."""
START = 9.04
"""The loss of an untrained model, the logarithm of ANDREA's vocabulary of 8,449."""
TRAP, UNEVEN = "repo-docs", ("repo-docs", "repo-docstrings", "unfirehose-chat")
"""The source at whose vertex ANDREA-120M v1 ended, and the list-like sources that earned the largest rewards."""


def preset(name: str, sources: Sequence[str]) -> Tree:
    """Return the settings of a preset for the given sources, as a truth's TOML file would hold them."""
    return {"name": name, **PRESETS[name](sources)}


def drawn(count: int) -> Tree:
    """Return settings of `count` sources that teach each other, drawn once and for all from a fixed seed.

    Floors are uniform on [1, 3], exponents on [0.3, 0.7], row noise on [0.05, 0.15]. A source learns at its own pace,
    log-normal with sigma 1; it learns from itself at that pace, and from each other source with probability 1/4 at
    the pace times a number uniform on [0, 1/2]. All losses begin at 9.04, the logarithm of ANDREA's vocabulary. Sizes
    are log-normal with sigma 1 around a fifth of the run. One unit of progress is a thousandth of the run.
    """
    rng = generator(4, "transfer", count)
    floor, exponent = rng.uniform(1.0, 3.0, count), rng.uniform(0.3, 0.7, count)
    pace, noise = np.exp(rng.normal(0.0, 1.0, count)), rng.uniform(0.05, 0.15, count)
    others = np.where(rng.random((count, count)) < 0.25, rng.uniform(0.0, 0.5, (count, count)), 0.0)
    np.fill_diagonal(others, 1.0)
    size = 0.2 * np.exp(rng.normal(0.0, 1.0, count))
    return {
        "start": START,
        "unit": 0.001,
        "floor": _rounded(floor),
        "exponent": _rounded(exponent),
        "noise": _rounded(noise),
        "size": _rounded(size),
        "transfer": _rounded(pace[:, None] * others),
    }


def _transfer(sources: Sequence[str]) -> Tree:
    if len(sources) != COMMITTED:
        return drawn(len(sources))
    return tomllib.loads(files(__name__).joinpath("transfer.toml").read_text(encoding="utf-8"))


def _forgetting(sources: Sequence[str]) -> Tree:
    """Half of all progress is gone after 15 % of the run."""
    return {**_transfer(sources), "half_life": 0.15}


def _noise(sources: Sequence[str], loss: float = 3.0) -> Tree:
    """The last source is pure noise: a loss of 3 nats with a standard deviation of 1 a row, whatever is trained."""
    if len(sources) < 2:
        raise ScenarioError("this truth needs at least two sources, one of which is the noise")
    data, last = _transfer(sources), len(sources) - 1
    transfer = np.array(data["transfer"])
    transfer[last], transfer[:, last] = 0.0, 0.0
    start = [START] * last + [loss]
    floor, noise = [*data["floor"][:last], loss], [*data["noise"][:last], 1.0]
    marked = {"target": list(sources[:last]), "pure_noise": [sources[last]]}
    return {**data, **marked, "start": start, "floor": floor, "noise": noise, "transfer": transfer.tolist()}


def _unlearnable(sources: Sequence[str]) -> Tree:
    """The last source is pure noise whose loss stays where all others begin, as that of random text does."""
    return _noise(sources, START)


def _change_points(sources: Sequence[str]) -> Tree:
    """At each third of the run every source begins to teach what another one taught before."""
    data, count = _transfer(sources), len(sources)
    transfer = np.array(data["transfer"])
    turns = {1 / 3: count // 3, 2 / 3: 2 * count // 3}
    return {
        **data,
        "changes": [{"at": at, "transfer": np.roll(transfer, by, axis=1).tolist()} for at, by in turns.items()],
    }


def _vertex_trap(sources: Sequence[str]) -> Tree:
    """Three list-like sources of uneven text teach nothing but themselves; one of them is learnt by heart.

    Row noise of 1 nat earns ANDREA's reward about 400, as published of those sources (340 to 453).
    """
    if TRAP not in sources:
        raise ScenarioError(f"the truth vertex_trap needs a source {TRAP!r}; the scenario has {', '.join(sources)}")
    data = _transfer(sources)
    transfer, floor, noise = np.array(data["transfer"]), list(data["floor"]), list(data["noise"])
    for name in set(UNEVEN) & set(sources):
        place = sources.index(name)
        own = transfer[place, place]
        transfer[place], transfer[:, place] = 0.0, 0.0
        transfer[place, place] = own
        noise[place] = 1.0 if name == TRAP else 0.6
    floor[sources.index(TRAP)] = 0.1
    return {**data, "floor": floor, "noise": noise, "transfer": transfer.tolist()}


def _rounded(values: object) -> list[float]:
    return np.round(np.asarray(values, np.float64), 4).tolist()  # type: ignore[no-any-return]


PRESETS: Mapping[str, Callable[[Sequence[str]], Tree]] = {
    "transfer": _transfer,
    "forgetting": _forgetting,
    "noise": _noise,
    "unlearnable": _unlearnable,
    "change_points": _change_points,
    "vertex_trap": _vertex_trap,
}

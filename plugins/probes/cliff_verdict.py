"""What a departure of the loss means: learned, a memorised gully, or other data."""

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from andrea_core import Integers, Mask, Trained

if TYPE_CHECKING:
    from andrea_core import ModelView
    from andrea_plugins.probes.cliff_series import Departure

SHINGLE = 16
LOOKED_BACK = 256
"""Earlier rows of the source in which a row's text is looked for."""
EARLIER = 16
"""Rows of the old level that the model is asked about again."""
RIGHT = 0.8
"""Share of tokens guessed right from which on a row counts as known by heart."""
REPEATED = 0.5
"""Share of the rows whose text was trained on before from which on the text counts as repeated."""
ECHO = 8
"""Tokens on end that a row has said before: what follows can be copied, and says nothing about the weights."""


@attrs.frozen
class Evidence:
    """What the model says now about the rows that departed, and about held-out text of the same source.

    Losses in nats a token: `now` of the rows, `earlier` the median of rows before them, `heldout` the median and
    `lowest` the least of held-out windows. Shares: `right`, tokens of the rows that greedy decoding says; `repeated`,
    rows whose text was trained on before. `now` and `right` leave out what the row itself has said before. `common` is
    the median change of the other sources' training loss while these rows departed.
    """

    now: float = math.nan
    heldout: float = math.nan
    lowest: float = math.nan
    right: float = math.nan
    repeated: float = math.nan
    earlier: float = math.nan
    common: float = math.nan


def evidence(
    view: "ModelView", trained: Trained, event: "Departure", before: tuple[int, ...], common: float, tokens: int
) -> Evidence:
    """Measure the evidence, all but `common`: four forward passes, over a few rows, those before and held-out text."""
    source = event.series
    rows = np.stack([trained.row(source, position) for position in event.positions])
    heldout = view.heldout(source, tokens)
    losses = view.token_losses(heldout).mean(1) if len(heldout) else np.array([math.nan])
    own = np.stack([unechoed(row) for row in rows])
    return Evidence(
        now=float(view.token_losses(rows)[own].mean()),
        heldout=float(np.median(losses)),
        lowest=float(losses.min()),
        right=float((np.asarray(view.guesses(rows)) == rows[:, 1:])[own].mean()),
        repeated=repeated(trained, source, event.positions),
        earlier=_median_loss(view, [trained.row(source, position) for position in before]),
        common=common,
    )


def unechoed(row: Integers) -> Mask:
    """Return which of a row's targets (T,) end no string of 8 tokens that the row has said before."""
    seen: set[bytes] = set()
    fresh = np.ones(len(row) - 1, np.bool_)
    for end, one in enumerate(_shingles_in_order(row, ECHO), ECHO - 1):
        if one in seen:
            fresh[end - 1] = False
        seen.add(one)
    return fresh


def repeated(trained: Trained, source: int, positions: tuple[int, ...]) -> float:
    """Return the share of rows most of whose 16-token strings stand in the source's 256 rows before them.

    A row that says the same thing over and over, with fewer distinct strings than a quarter of its length, is easy,
    not remembered, and counts as not repeated.
    """
    seen: dict[int, set[bytes]] = {}
    found = 0
    for position in positions:
        mine = _shingles(trained.row(source, position))
        for earlier in range(max(0, position - LOOKED_BACK), position):
            if earlier not in seen:
                seen[earlier] = _shingles(trained.row(source, earlier))
        before = set[bytes]().union(*(seen[one] for one in range(max(0, position - LOOKED_BACK), position)))
        varied = len(mine) >= len(trained.row(source, position)) / 4
        found += varied and len(mine & before) > len(mine) / 2
    return found / len(positions)


def verdict(event: "Departure", known: Evidence) -> str:
    """Return `learned`, `memorised_gully`, `data_change` or `unexplained`.

    A level that held-out text of the source has come half the way to was learned; a rise that it has come half the way
    to, and a spike, are the model's own trouble: unexplained. Rows far below all held-out text (under half of the
    lowest window's loss), mostly guessed right and mostly seen before, lie in a memorised gully. What is left is a
    change of the data, unless the rows before the shift have come half the way too, or other sources had in those
    steps: then the model changed, not the data, and held-out text does not say how.
    """
    half = (event.after - event.before) / 2
    if event.kind == "spike":
        return "unexplained"
    if event.kind == "rise":
        moved = known.heldout >= event.halfway or known.earlier >= event.halfway or known.common >= half
        return "unexplained" if moved else "data_change"
    if known.heldout <= event.halfway:
        return "learned"
    floor = known.lowest if math.isfinite(known.lowest) else event.before
    if known.now < floor / 2 and known.right >= RIGHT and known.repeated >= REPEATED:
        return "memorised_gully"
    moved = known.earlier <= event.halfway or known.common <= half
    return "unexplained" if moved else "data_change"


def _median_loss(view: "ModelView", rows: list[Integers]) -> float:
    return float(np.median(view.token_losses(np.stack(rows)).mean(1))) if rows else math.nan


def _shingles(row: Integers) -> set[bytes]:
    return set(_shingles_in_order(row, SHINGLE))


def _shingles_in_order(row: Integers, size: int) -> list[bytes]:
    cut = np.lib.stride_tricks.sliding_window_view(np.asarray(row, np.int32), min(size, len(row)))
    return [one.tobytes() for one in cut]

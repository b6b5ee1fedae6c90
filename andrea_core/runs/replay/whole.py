"""Whether a record is fit to be replayed: the length, type, shape and names of every array that a replay reads."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from andrea_core.errors import RunError
from andrea_core.runs.soundness import RESTORE
from andrea_core.runs.store import Run
from andrea_core.runs.table import Table

WHOLE, NUMBER, EITHER = "iu", "f", "iuf"
_KINDS = {WHOLE: "whole numbers", NUMBER: "floating-point numbers", EITHER: "numbers"}
ROWS = ("row_loss", "row_source")


@attrs.frozen
class Kind:
    """What an array must be: numbers of some kinds, at least so many bytes each, and the shape of one row."""

    kinds: str
    size: int
    row: tuple[int, ...]


def check_record(run: Run) -> list[str]:
    """Raise RunError that names the array unless all that a replay reads is there and fits together.

    Returns sentences on arrays that end early, as they may in the record of a process that was killed: what is
    beyond the shortest is not replayed. Where the run has come to its end, that is damage.
    """
    count = len(run.sources)
    if not all(isinstance(name, str) for name in run.attributes["sources"]):
        raise _damaged(run, "its attribute 'sources'", f"{_short(run.attributes['sources'])}, not a list of names")
    rows = _attribute(run, "rows", 1)
    _attribute(run, "context", 1)
    tokens = run.attributes.get("epoch_tokens", _ABSENT)
    if not _are_counts(tokens, count):
        raise _damaged(run, "its attribute 'epoch_tokens'", f"{_short(tokens)}, not {count} whole numbers above 0")
    phases, steps = run.stored("phases"), run.stored("steps")
    if not phases or not steps or not any(one.shape[0] for one in phases.values() if one.ndim):
        raise RunError(f"{run.folder}: no phase of this run is finished yet, so there is nothing to replay")
    if not any(name in steps for name in ROWS):
        raise RunError(older(run, "the losses of single rows"))
    shorter = [
        *_fits(run, "phases", phases, _phase_kinds(count, phases)),
        *_fits(run, "steps", steps, _step_kinds(rows, steps)),
    ]
    _check_probes(run)
    _check_values(run, count)
    return shorter


def _phase_kinds(count: int, found: Mapping[str, Any]) -> dict[str, Kind]:
    by_source = ("requested", "weights", "lower", "upper", "owed", "reward", "loss", "epochs")
    kinds = dict.fromkeys(("start", "steps"), Kind(WHOLE, 4, ()))
    kinds |= dict.fromkeys(("stage", "policy"), Kind(WHOLE, 1, ()))
    kinds |= dict.fromkeys(by_source, Kind(NUMBER, 8, (count,)))
    kinds |= dict.fromkeys(("drawn", "trained"), Kind(WHOLE, 4, (count,)))
    if "passed_over" in found:
        kinds["passed_over"] = Kind(WHOLE, 4, (count,))
    needed = {"heldout": (count,), **dict.fromkeys(("gradients_train", "gradients_heldout"), (count, count))}
    return kinds | {name: Kind(NUMBER, 8, row) for name, row in needed.items() if name in found}


def _step_kinds(rows: int, found: Mapping[str, Any]) -> dict[str, Kind]:
    kinds = {"row_loss": Kind(NUMBER, 4, (rows,)), "row_source": Kind(WHOLE, 2, (rows,)), "tokens": Kind(WHOLE, 4, ())}
    kinds |= dict.fromkeys(("loss", "lr", "grad_norm"), Kind(NUMBER, 4, ()))
    return kinds | ({"row_loss_after": Kind(NUMBER, 4, (rows,))} if "row_loss_after" in found else {})


def _fits(run: Run, group: str, found: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Iterator[str]:
    """Check a group's arrays; yield a sentence for those that are shorter than the longest of the group."""
    longest = max(one.shape[0] for one in found.values() if one.ndim)
    for name, kind in kinds.items():
        array = found.get(name)
        if array is None:
            raise _damaged(run, f"{group}/{name}", "missing")
        if array.dtype.kind not in kind.kinds or array.dtype.itemsize < kind.size:
            raise _damaged(run, f"{group}/{name}", f"of the type {array.dtype}, not {_KINDS[kind.kinds]} as written")
        if array.ndim != len(kind.row) + 1 or tuple(array.shape[1:]) != kind.row:
            raise _damaged(run, f"{group}/{name}", f"of rows shaped {tuple(array.shape[1:])}, not {kind.row}")
    for name, array in found.items():
        if array.ndim and array.shape[0] < longest:
            what = f"{array.shape[0]:,} rows long where others of {group} have {longest:,}"
            if _ended(run) or longest - array.shape[0] > _MOST_UNEVEN or not array.shape[0]:
                raise _damaged(run, f"{group}/{name}", what)
            yield f"{group}/{name} is {what}, as when a run was killed; what is beyond is not replayed"


_MOST_UNEVEN = 2048
"""Rows by which a killed process may leave arrays of unequal length: several of the chunks that it fills."""


def _ended(run: Run) -> bool:
    """Return whether a run came to its last step: some array of its steps has them all."""
    total = run.attributes.get("total_steps")
    return any(one.shape[0] == total for one in run.stored("steps").values() if one.ndim)


def _check_probes(run: Run) -> None:
    """Look at the steps of what probes measured, and at the events: a replay finds findings by them."""
    for where, table in (("eval", run.evals), ("samples", run.samples), *_probe_tables(run)):
        if table.rows:
            _check_steps(run, where, table)
    if run.events.rows and run.events.has("step") and run.events["step"].dtype.kind not in WHOLE:
        raise _damaged(run, "events/step", f"of the type {run.events['step'].dtype}, not {_KINDS[WHOLE]} as written")
    bits = run.evals["bits_per_byte"] if run.evals.has("bits_per_byte") else None
    if bits is not None and (bits.dtype.kind not in EITHER or bits.shape[1:] != (len(run.sources),)):
        raise _damaged(run, "eval/bits_per_byte", f"{bits.dtype} of rows shaped {bits.shape[1:]}")


def _probe_tables(run: Run) -> list[tuple[str, Table]]:
    return [(f"probes/{name}", table) for name, table in run.probes.items()]


def _check_steps(run: Run, where: str, table: Table) -> None:
    if not table.has("step"):
        raise _damaged(run, f"{where}/step", "missing")
    step = table["step"]
    if step.dtype.kind not in WHOLE or step.ndim != 1 or (np.diff(step) < 0).any():
        raise _damaged(run, f"{where}/step", "no list of steps in their order")


def _check_values(run: Run, count: int) -> None:
    """Look into the arrays: names that exist, phases that follow each other, rows of known sources, finite weights."""
    phases, steps = run.phases, run.steps
    written = max(one.shape[0] for one in run.stored("phases").values())
    if _ended(run) and phases.rows < written:
        raise _damaged(run, "phases", f"blank in its last {written - phases.rows} rows")
    for name in ("stage", "policy"):
        names, codes = phases.names(name), phases[name]
        if not names or codes.min(initial=0) < 0 or codes.max(initial=0) >= len(names):
            raise _damaged(run, f"phases/{name}", "without the names (attribute `names`) that its numbers stand for")
    start, length = (phases[name].astype(np.int64) for name in ("start", "steps"))
    if (length < 1).any() or not np.array_equal(start, np.cumsum(length) - length):
        raise _damaged(run, "phases/start", "at odds with phases/steps: each phase begins where the one before ended")
    for name in ("requested", "weights", "lower", "upper", "owed"):
        _within(run, f"phases/{name}", phases[name], -np.inf, np.inf, "a number that is not finite")
    source = steps["row_source"]
    _within(run, "steps/row_source", source, 0, count, "no source's number")


def _within(run: Run, where: str, values: Any, low: float, high: float, what: str) -> None:
    odd = np.argwhere(~(np.isfinite(values) & (values >= low) & (values < high)))
    if len(odd):
        raise _damaged(run, where, f"{values[tuple(odd[0])]} in row {int(odd[0][0])}, {what}")


_ABSENT = object()


def _attribute(run: Run, name: str, least: int) -> int:
    found = run.attributes.get(name, _ABSENT)
    if isinstance(found, bool) or not isinstance(found, int) or found < least:
        raise _damaged(run, f"its attribute {name!r}", f"{_short(found)}, not a whole number of at least {least}")
    return found


def _are_counts(found: Any, count: int) -> bool:
    return isinstance(found, list) and len(found) == count and all(type(one) is int and one > 0 for one in found)


def _short(found: Any) -> str:
    return "missing" if found is _ABSENT else repr(found)[:60]


def _damaged(run: Run, where: str, what: str) -> RunError:
    return RunError(f"{run.folder}: the record is damaged: {where} is {what}; {RESTORE}")


def older(run: Run, what: str) -> str:
    """Return what to say of a record from before something was kept."""
    return (
        f"{run.folder}: the record lacks {what}, which an older andrea did not keep, so this run cannot be replayed; "
        "train it anew with `andrea run`"
    )

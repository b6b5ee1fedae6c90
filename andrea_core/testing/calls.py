"""How the conformance checks call a plugin: what it raises becomes a message, what it changes is noticed."""

from typing import Any, NoReturn

import attrs
import numpy as np

from andrea_core.contracts import NEEDS
from andrea_core.errors import PluginError
from andrea_core.runs.tree import Arrays, flatten, restore
from andrea_core.values import Mask, Vector


def fail(plugin: Any, method: str, problem: str) -> NoReturn:
    """Raise the AssertionError of a check; `problem` says what is wrong and what the contract asks for."""
    raise AssertionError(f"{type(plugin).__name__}.{method}: {problem}")


def call(plugin: Any, method: str, *arguments: Any, passing: type[Exception] | tuple[()] = ()) -> Any:
    """Return the method's answer; an exception becomes an AssertionError, with a hint when it wrote to an input.

    Exceptions of the type `passing` go through as they are.
    """
    try:
        with np.errstate(all="ignore"):  # an overflow is no fault: what it makes of the answer is checked
            return getattr(plugin, method)(*arguments)
    except passing:
        raise
    except Exception as error:
        read_only = "read-only" in str(error)
        hint = "; inputs are read-only, work on a copy (`+` instead of `+=`)" if read_only else ""
        raise AssertionError(
            f"{type(plugin).__name__}.{method}: raised {type(error).__name__}: {error}{hint}; "
            "an exception here stops the run, so every legal input needs an answer"
        ) from error


def check_settings(plugin: Any, *methods: str) -> None:
    """Fail unless the plugin is a frozen attrs object with these methods, and asks only for what can be measured."""
    if not attrs.has(type(plugin)):
        fail(plugin, "__init__", "no attrs class; decorate it with `@attrs.frozen`, its fields become its settings")
    for name in methods:
        if not callable(getattr(plugin, name, None)):
            fail(plugin, name, "is missing; the contract of this kind asks for it")
    _check_frozen(plugin)
    unknown = sorted(frozenset(getattr(plugin, "needs", ())) - NEEDS)
    if unknown:
        fail(plugin, "needs", f"asks for {', '.join(unknown)}; only {', '.join(sorted(NEEDS))} can be had")


def _check_frozen(plugin: Any) -> None:
    for field in attrs.fields(type(plugin)):
        try:
            setattr(plugin, field.name, getattr(plugin, field.name))
        except attrs.exceptions.FrozenInstanceError:
            continue
        fail(plugin, field.name, "can be changed; use `@attrs.frozen`, and keep what changes in the state")


def fingerprint(plugin: Any, method: str, state: Any) -> tuple[str, dict[str, tuple[str, bytes]]]:
    """Return the state as comparable values, to the bit; fails for a state that no checkpoint can keep."""
    arrays: Arrays = {}
    try:
        plain = repr(flatten(state, "state", arrays))
    except PluginError as error:
        fail(plugin, method, str(error))
    for path, array in arrays.items():
        if array.dtype.kind not in "biuf":
            fail(plugin, method, f"{path} is an array of {array.dtype}; arrays in a state hold numbers or booleans")
    return plain, {path: (str(array.dtype), array.tobytes()) for path, array in arrays.items()}


def resumed(plugin: Any, method: str, state: Any, start: Any) -> Any:
    """Return the state as it comes back from a checkpoint, filled into the tree that `start` gave."""
    arrays: Arrays = {}
    try:
        return restore(flatten(state, "state", arrays), arrays, start)
    except PluginError as error:
        fail(plugin, method, f"{error}; the state that `start` returns must have the classes of every later one")


def check_weights(plugin: Any, method: str, answer: Any, names: tuple[str, ...], active: Mask) -> Vector:
    """Return the answer as a vector (K,); fails unless it is finite, not negative, not all 0, and 0 where inactive."""
    weights = np.asarray(answer)
    if weights.shape != (len(names),) or weights.dtype.kind not in "biuf":
        fail(plugin, method, f"expected a vector of {len(names)} numbers, one a source, got {_described(answer)}")
    odd = ~np.isfinite(weights) | (weights < 0) | ((weights > 0) & ~active)
    for name, weight in ((names[k], weights[k]) for k in np.flatnonzero(odd)[:1]):
        if not np.isfinite(weight) or weight < 0:
            fail(plugin, method, f"gave source {name!r} the weight {weight}; weights are finite and never negative")
        fail(plugin, method, f"gave {weight} to source {name!r}, which is excluded; mask it by `moment.active`")
    if not weights.any():
        fail(plugin, method, "gave no source any weight; at least one active source must have some")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            fail(plugin, method, f"gave weights whose sum overflows, up to {weights.max()}; normalise them")
    return weights.astype(np.float64)


def _described(answer: Any) -> str:
    shape = getattr(answer, "shape", None)
    return type(answer).__name__ if shape is None else f"{type(answer).__name__} of shape {shape}, {answer.dtype}"

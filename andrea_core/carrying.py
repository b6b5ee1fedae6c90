"""What a fork takes over from its parent's state: everything whose kind is the same in both scenarios."""

from collections.abc import Mapping
from typing import Any

import attrs

from andrea_core.phase import Director, State
from andrea_core.plan import probe_names
from andrea_core.runs.tree import Arrays, flatten, restore


def carried(state: State, was: Director, now: Director) -> tuple[State, list[str]]:
    """Return the state with which a fork begins, and what begins afresh in it.

    Step, phase, weights and the sampler's positions go on. The states of policy, reward, curriculum and each probe go
    on when both scenarios name the same component and its state is of the same classes and shapes.
    """
    start = now.start()
    fresh: list[str] = []

    def part(what: str, kind: str, old: Any, new: Any, components: tuple[Any, Any]) -> Any:
        names = was.catalogue.name_of(kind, components[0]), now.catalogue.name_of(kind, components[1])
        taken, state = _taken(old, new) if names[0] == names[1] else (False, new)
        if not taken:
            fresh.append(f"{what} {names[1]}")
        return state

    one, other = was.scenario, now.scenario
    policy = part("policy", "policies", state.policy, start.policy, (one.policy.component, other.policy.component))
    reward = part("reward", "rewards", state.reward, start.reward, (one.reward, other.reward))
    curriculum = part("curriculum", "curricula", state.curriculum, start.curriculum, (one.curriculum, other.curriculum))
    probes = _probes(state, start, was, now)
    after = attrs.evolve(state, policy=policy, reward=reward, curriculum=curriculum, probes=probes)
    return after, fresh


def form(data: Any, arrays: Mapping[str, Any]) -> Any:
    """Return what a flattened state is made of: classes, keys and shapes, without its numbers."""
    if not isinstance(data, dict) or "scalar" in data:
        return None
    if "array" in data:
        return arrays[data["array"]].shape
    if "class" in data:
        return data["class"], {key: form(item, arrays) for key, item in data["fields"].items()}
    if "dict" in data:
        return {key: form(item, arrays) for key, item in data["dict"].items()}
    return [form(item, arrays) for item in data["tuple"]]


def fits(one: Any, other: Any) -> bool:
    """Return whether two forms may be states of one component at two times.

    Plain values and parts that are not there yet, empty arrays and lists of plain values fit anything of their kind.
    """
    if one is None or other is None:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(fits(one[key], other[key]) for key in one)
    if isinstance(one, list):
        plain = not any(one) or not any(other)
        return plain or (len(one) == len(other) and all(map(fits, one, other)))
    if one and isinstance(one[0], str) and other and isinstance(other[0], str):
        return one[0] == other[0] and fits(one[1], other[1])
    return bool(one == other) or 0 in one or 0 in other


def _taken(old: Any, new: Any) -> tuple[bool, Any]:
    """Return whether an old state goes on, and the state: the old one in the new one's classes, or the new one."""
    arrays: Arrays = {}
    fresh: Arrays = {}
    data, started = flatten(old, "state", arrays), flatten(new, "state", fresh)
    if not fits(form(data, arrays), form(started, fresh)):
        return False, new
    return True, restore(data, arrays, new)


def _probes(state: State, start: State, was: Director, now: Director) -> tuple[Any, ...]:
    """Return the states of a fork's probes: each goes on from the parent's of the same name, if there is one."""
    names = probe_names(was.scenario, was.catalogue)
    earlier = dict(zip(names, state.probes, strict=True))
    named = zip(probe_names(now.scenario, now.catalogue), start.probes, strict=True)
    return tuple(_taken(earlier[name], fresh)[1] if name in earlier else fresh for name, fresh in named)

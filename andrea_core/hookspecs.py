"""What a plugin can register: one hook a kind, each returning a table from the name written in TOML to a class."""

from collections.abc import Mapping

import pluggy

hookspec = pluggy.HookspecMarker("andrea")
hookimpl = pluggy.HookimplMarker("andrea")


@hookspec
def andrea_sources() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return source readers: classes with `fingerprint(name)` and `documents(name)`."""


@hookspec
def andrea_curricula() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return curricula: classes with `start(sources)`, `stage(state, step)` and `update(state, outcome, findings)`."""


@hookspec
def andrea_constraints() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return constraint sets: classes with `restrict(region, context)`."""


@hookspec
def andrea_phases() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return phase lengths: classes with `length(context, rng)`."""


@hookspec
def andrea_policies() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return policies: classes with `start(sources)`, `propose(state, moment, rng)` and `update(state, outcome)`."""


@hookspec
def andrea_adjusts() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return adjustments: classes with `adjust(requested, moment)`."""


@hookspec
def andrea_rewards() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return rewards: classes with `start(sources)` and `score(state, observation, rng)`."""


@hookspec
def andrea_probes() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return probes: classes with `start(sources)` and `measure(state, view, rng)`."""


@hookspec
def andrea_observers() -> Mapping[str, type]:  # type: ignore[empty-body]
    """Return observers: classes with `open(folder, sources)`, `phase(handle, record)` and `close(handle)`."""

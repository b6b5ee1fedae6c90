"""Profiles: the named variants of a scenario, one of them chosen and laid over it, with the scale that it brings."""

from typing import Any

import attrs

from andrea_core.errors import ScenarioError
from andrea_core.layers import Layers, Tree
from andrea_core.reshaping import is_scale
from andrea_core.spelling import nearest, shown


def profiled(layers: Layers, profile: str | None, scale: float | None) -> tuple[Layers, float | None]:
    """Return the settings under a profile (the scenario's default when none is named), and the scale to use.

    A `scale` that is given replaces the profile's. Raises ScenarioError for profiles that are no tables, or unknown.
    """
    data = dict(layers.data)
    profiles = _tables(layers, data.pop("profiles", {}))
    default = data.pop("profile", None)
    if default is not None and not isinstance(default, str):
        raise ScenarioError(f"{layers.origin(['profile'])}: profile must be a profile's name, got {shown(default)}")
    name = default if profile is None else profile
    if name is None:
        return attrs.evolve(layers, data=data), scale
    if name not in profiles:
        where = layers.origin([] if profile is not None else ["profile"])
        hint = nearest(name, profiles) if profiles else "; the scenario has no profiles"
        raise ScenarioError(f"{where}: no profile is called {shown(name)}{hint}")
    chosen = dict(profiles[name])
    own = chosen.pop("scale", None)
    if own is not None and not is_scale(own):
        where = layers.origin(["profiles", name, "scale"])
        raise ScenarioError(f"{where}: profiles.{name}.scale must be a finite number above 0, got {shown(own)}")
    where = f"{layers.origin(['profiles', name])}, profile {name}"
    return attrs.evolve(layers, data=data).over(chosen, where), own if scale is None else scale


def _tables(layers: Layers, profiles: Any) -> dict[str, Tree]:
    if not isinstance(profiles, dict):
        where = layers.origin(["profiles"])
        raise ScenarioError(f"{where}: profiles must be a table of tables ([profiles.NAME]), got {shown(profiles)}")
    for name, table in profiles.items():
        if not isinstance(table, dict):
            where = layers.origin(["profiles", name])
            raise ScenarioError(f"{where}: profiles.{name} must be a table ([profiles.{name}]), got {shown(table)}")
    return profiles

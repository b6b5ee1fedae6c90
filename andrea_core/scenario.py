"""TOML to attrs: extends, profiles, scale and overrides, resolved to one Scenario, with exact errors."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import tomli_w

from andrea_core.contracts import (
    Adjust,
    ConstraintSet,
    Curriculum,
    Observer,
    Phases,
    Policy,
    Probe,
    Reward,
    SourceReader,
)
from andrea_core.data.sampler import SamplerSettings
from andrea_core.data.tokenizer import TokenizerSettings
from andrea_core.errors import ScenarioError
from andrea_core.fields import one_of, positive, span
from andrea_core.layers import Layers, Tree, apply_override, overrides, read_layers
from andrea_core.model.settings import ModelSettings, OptimizerSettings
from andrea_core.plugins import Catalogue
from andrea_core.reshaping import absolute, scaled
from andrea_core.spelling import nearest
from andrea_core.structure import Problem, component_slot, converter, problems
from andrea_core.tables import named_sources


def _some_source(_scenario: Any, _attribute: Any, value: Mapping[str, SourceReader]) -> None:
    if not value:
        raise ValueError('sources must name at least one source, for example [sources.mine] use = "text"')


@attrs.frozen
class RunSettings:
    """How long to train and how often to save: `steps` optimiser steps, a checkpoint every `checkpoint_every` steps."""

    steps: int = span(at_least=1)
    checkpoint_every: int = positive(default=100)
    keep_checkpoints: int = positive(default=3)


@attrs.frozen
class PolicySlot:
    """The policy, and how the core lands its wish on the region: `euclidean` or `kl` projection."""

    component: Policy[Any] = component_slot()
    landing: str = one_of("euclidean", "kl", default="euclidean")


@attrs.frozen
class ProbeSlot:
    """A probe, and when it looks: `every` so many steps, `at_stage_borders`, `at_start`, `at_end`."""

    component: Probe[Any] = component_slot()
    every: int | None = positive(default=None)
    at_start: bool = False
    at_stage_borders: bool = False
    at_end: bool = False


@attrs.frozen
class Scenario:
    """A whole experiment. `structure(unstructure(scenario)) == scenario`."""

    name: str
    run: RunSettings
    sources: Mapping[str, SourceReader] = attrs.field(validator=_some_source)
    curriculum: Curriculum[Any]
    policy: PolicySlot
    reward: Reward[Any]
    phases: Phases
    seed: int = 1
    plugins: tuple[str, ...] = ()
    tokenizer: TokenizerSettings = attrs.field(factory=TokenizerSettings)
    model: ModelSettings = attrs.field(factory=lambda: ModelSettings(preset="laptop"))
    optimizer: OptimizerSettings = attrs.field(factory=OptimizerSettings)
    sampler: SamplerSettings = attrs.field(factory=SamplerSettings)
    constraints: tuple[ConstraintSet, ...] = ()
    adjusts: tuple[Adjust, ...] = ()
    probes: tuple[ProbeSlot, ...] = ()
    observers: tuple[Observer, ...] = ()


@attrs.frozen(eq=False)
class Loaded:
    """A scenario with the catalogue that understands it and its resolved text."""

    scenario: Scenario
    catalogue: Catalogue
    text: str

    @property
    def digest(self) -> str:
        """The sha256 of the resolved text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load(
    path: Path,
    *,
    profile: str | None = None,
    scale: float | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    plugins: Sequence[str] = (),
) -> Loaded:
    """Read a scenario: what it extends, itself, a profile, the scale, then `settings` (key=value) literally.

    `scale` replaces the profile's; it multiplies every step span. Raises ScenarioError that lists every problem.
    """
    layers = read_layers(Path(path))
    layers, scale = _profiled(layers, profile, scale)
    named = layers.data.get("plugins", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ScenarioError(f"{layers.origin(['plugins'])}: plugins must be a list of names and files, got {named!r}")
    asked = [_absolute(name, Path(path).parent) for name in named] + [_absolute(name, Path.cwd()) for name in plugins]
    data: Tree = {**layers.data, "plugins": list(dict.fromkeys(asked))}
    catalogue = Catalogue.of(data["plugins"], folder=Path(path).parent)
    if scale is not None and scale != 1:
        data = unstructure(scaled(structure(data, catalogue, layers.origin), scale), catalogue)
    for place, value in overrides(settings):
        data = apply_override(data, place, value)
    if seed is not None:
        data = {**data, "seed": seed}
    origin = _with_settings(layers, [place for place, _ in overrides(settings)])
    made = loaded(data, catalogue, origin)
    return _loaded(absolute(made.scenario, Path.cwd()), catalogue)


def loaded(data: Tree, catalogue: Catalogue, origin: Callable[[Sequence[str]], str]) -> Loaded:
    """Return a checked scenario from resolved settings."""
    scenario = structure(data, catalogue, origin)
    _check(scenario, origin)
    return _loaded(scenario, catalogue)


def _loaded(scenario: Scenario, catalogue: Catalogue) -> Loaded:
    return Loaded(scenario, catalogue, tomli_w.dumps(unstructure(scenario, catalogue)))


def load_resolved(path: Path) -> Loaded:
    """Read a scenario that a run folder stores: no profile, no scale, nothing to extend."""
    layers = read_layers(path)
    catalogue = Catalogue.of(layers.data.get("plugins", []), folder=path.parent)
    return loaded(layers.data, catalogue, layers.origin)


def structure(data: Tree, catalogue: Catalogue, origin: Callable[[Sequence[str]], str]) -> Scenario:
    """Return the scenario of plain settings; raises ScenarioError that lists every problem with its place."""
    try:
        return converter(catalogue).structure(data, Scenario)
    except Exception as error:
        found = problems(error)
        if not found:
            raise
        raise ScenarioError(_message(found, origin)) from error


def unstructure(scenario: Scenario, catalogue: Catalogue) -> Tree:
    """Return the plain settings of a scenario."""
    plain: Tree = converter(catalogue).unstructure(scenario)
    return plain


def _profiled(layers: Layers, profile: str | None, scale: float | None) -> tuple[Layers, float | None]:
    data = dict(layers.data)
    profiles = data.pop("profiles", {})
    default = data.pop("profile", None)
    name = profile or default
    if name is None:
        return attrs.evolve(layers, data=data), scale
    if name not in profiles:
        raise ScenarioError(f"{layers.origin([])}: no profile is called {name!r}{nearest(name, profiles)}")
    chosen = dict(profiles[name])
    own = chosen.pop("scale", None)
    if own is not None and (isinstance(own, bool) or not isinstance(own, int | float) or not own > 0):
        raise ScenarioError(f"{layers.origin([])}: profiles.{name}.scale must be a number above 0, got {own!r}")
    where = f"{layers.origin(['profiles', name])}, profile {name}"
    return attrs.evolve(layers, data=data).over(chosen, where), own if scale is None else scale


def _check(scenario: Scenario, origin: Callable[[Sequence[str]], str]) -> None:
    """Refuse what no single class can see: a model that cannot be, sources that are named but do not exist."""
    wrong = []
    try:
        scenario.model.resolve()
    except ValueError as error:
        wrong.append(Problem(("model",), str(error)))
    for path, name in named_sources(scenario):
        if name not in scenario.sources:
            wrong.append(Problem(path, f"there is no source {name!r}{nearest(name, scenario.sources)}"))
    if wrong:
        raise ScenarioError(_message(wrong, origin))


def _absolute(name: str, folder: Path) -> str:
    """Return a plugin file's absolute path, so that a resolved scenario finds it from anywhere; names stay."""
    path = Path(name).expanduser()
    return str((folder / path).resolve()) if name.endswith(".py") else name


def _with_settings(layers: Layers, places: Sequence[Sequence[str]]) -> Callable[[Sequence[str]], str]:
    def origin(path: Sequence[str]) -> str:
        plain = [part.strip("[]") for part in path]
        if any(plain[: len(place)] == list(place) for place in places):
            return "--set"
        if tuple(plain) not in layers.origins and any(list(place)[: len(plain)] == plain for place in places if plain):
            return "--set"
        return layers.origin(path)

    return origin


def _message(found: Sequence[Problem], origin: Callable[[Sequence[str]], str]) -> str:
    lines = []
    for problem in found:
        place = ".".join(problem.path).replace(".[", "[")
        lines.append(
            f"{origin(problem.path)}: {place}: {problem.message}" if place else f"{origin([])}: {problem.message}"
        )
    return "\n".join(dict.fromkeys(lines))

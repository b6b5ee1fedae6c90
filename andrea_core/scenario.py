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
from andrea_core.fields import factors_by_source, one_of, positive, span
from andrea_core.layers import Tree, read_layers
from andrea_core.model.settings import NO_PARTED_MUON, ModelSettings, OptimizerSettings
from andrea_core.names import has_unprintable, refuse_folder_name, refuse_source_name
from andrea_core.overrides import Override, apply_override, overrides, with_overrides
from andrea_core.plugins import Catalogue
from andrea_core.profiles import profiled
from andrea_core.reshaping import absolute, expanded, scaled
from andrea_core.spelling import dotted, nearest, shown
from andrea_core.structure import Problem, component_slot, converter, problems
from andrea_core.tables import named_sources
from andrea_core.timetable import BORDERS, Timetable


def _some_source(_scenario: Any, _attribute: Any, value: Mapping[str, SourceReader]) -> None:
    if not value:
        raise ValueError('sources must name at least one source, for example [sources.mine] use = "text"')
    for name in value:
        refuse_source_name(name, "sources")


def _folder_name(_scenario: Any, _attribute: Any, value: str) -> None:
    refuse_folder_name(value, "name")


@attrs.frozen
class RunSettings:
    """How long to train and how often to save: `steps` optimiser steps, a checkpoint every `checkpoint_every` steps.

    The newest `keep_checkpoints` stay, and every `keep_every`-th for good. With `keep_best` a checkpoint is written
    whenever a probe finds a lower mean held-out loss than ever before, and the best one stays. Several ranks hold the
    model each whole with `parallel` "ddp", each a part of it with "fsdp"; one alone does not look at it.
    """

    steps: int = span(at_least=1)
    checkpoint_every: int = positive(default=100)
    keep_checkpoints: int = positive(default=3)
    keep_every: int | None = positive(default=None)
    keep_best: bool = False
    parallel: str = one_of("ddp", "fsdp", default="ddp")


@attrs.frozen
class PolicySlot:
    """The policy, and how the core lands its wish on the region: `euclidean` or `kl` projection."""

    component: Policy[Any] = component_slot()
    landing: str = one_of("euclidean", "kl", default="euclidean")


@attrs.frozen
class ProbeSlot(Timetable):
    """A probe, and when it looks."""

    component: Probe[Any] = component_slot()

    @property
    def times(self) -> Timetable:
        """When it looks: what the scenario names, else the class's own `times`, else BORDERS."""
        return getattr(self.component, "times", BORDERS) if self.empty else self


@attrs.frozen
class Scenario:
    """A whole experiment. `structure(unstructure(scenario)) == scenario`."""

    name: str = attrs.field(validator=_folder_name)
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
    objective: Mapping[str, float] = factors_by_source(default=attrs.Factory(dict))
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
    layers, scale = profiled(read_layers(Path(path)), profile, scale)
    asked = overrides(settings)
    if seed is not None:
        asked.append(Override(("seed",), seed, "--seed"))
    origin = with_overrides(layers, asked)
    active = [one for one in asked if one.path[0] == "plugins"]  # what understands the rest must be there first
    data = _with_plugins(layers.data, active, plugins, Path(path).parent, origin)
    catalogue = Catalogue.of(data["plugins"], folder=Path(path).parent)
    if scale is not None and scale != 1:
        data = unstructure(scaled(structure(data, catalogue, layers.origin), scale), catalogue)
    for override in asked:
        data = data if override in active else apply_override(data, override)
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
    catalogue = Catalogue.of(_plugin_names(layers.data, layers.origin), folder=path.parent)
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


def _check(scenario: Scenario, origin: Callable[[Sequence[str]], str]) -> None:
    """Refuse what no single class can see: a model that cannot be, sources that are named but do not exist."""
    wrong = []
    try:
        scenario.model.resolve()
    except ValueError as error:
        wrong.append(Problem(("model",), str(error)))
    if scenario.run.keep_best and not any(getattr(slot.component, "group", None) == "eval" for slot in scenario.probes):
        wrong.append(
            Problem(("run", "keep_best"), 'needs a probe that measures held-out loss: add [[probes]] use = "heldout"')
        )
    if scenario.run.parallel == "fsdp" and scenario.optimizer.use == "muon":
        wrong.append(Problem(("run", "parallel"), NO_PARTED_MUON))
    for path, name in named_sources(scenario):
        if name not in scenario.sources:
            wrong.append(Problem(path, f"there is no source {name!r}{nearest(name, scenario.sources)}"))
    if wrong:
        raise ScenarioError(_message(wrong, origin))


def _with_plugins(
    data: Tree, active: Sequence[Override], plugins: Sequence[str], folder: Path, origin: Callable[[Sequence[str]], str]
) -> Tree:
    """Return settings whose `plugins` are all that are asked for: the file's, as --set changes them, and --plugin's.

    Files are made absolute: the scenario's start in its folder, those of the command line in the current directory.
    """
    named = [_absolute(name, folder) for name in _plugin_names(data, origin)]
    data = {**data, "plugins": named}
    for override in active:
        data = apply_override(data, override)
    asked = [_absolute(name, Path.cwd()) for name in [*_plugin_names(data, origin), *plugins]]
    return {**data, "plugins": list(dict.fromkeys(asked))}


def _plugin_names(data: Tree, origin: Callable[[Sequence[str]], str]) -> list[str]:
    named = data.get("plugins", [])
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ScenarioError(f"{origin(['plugins'])}: plugins must be a list of names and files, got {shown(named)}")
    return named


def _absolute(name: str, folder: Path) -> str:
    """Return a plugin file's absolute path, so that a resolved scenario finds it from anywhere; names stay."""
    if has_unprintable(name):
        raise ScenarioError(f"the plugin name {name!r} holds control characters; name a file or an installed plugin")
    return str((folder / expanded(name)).resolve()) if name.endswith(".py") else name


def _message(found: Sequence[Problem], origin: Callable[[Sequence[str]], str]) -> str:
    lines = []
    for problem in found:
        place = dotted(problem.path)
        lines.append(
            f"{origin(problem.path)}: {place}: {problem.message}" if place else f"{origin([])}: {problem.message}"
        )
    return "\n".join(dict.fromkeys(lines))

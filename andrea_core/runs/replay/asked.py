"""What a replay is asked for: the run's own scenario, or the same with another policy, reward or other settings."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from andrea_core.errors import ScenarioError
from andrea_core.layers import Layers, Tree, read_layers
from andrea_core.overrides import Override, apply_override, overrides, with_overrides
from andrea_core.plugins import Catalogue
from andrea_core.reshaping import expanded
from andrea_core.runs.folder import SCENARIO
from andrea_core.scenario import Loaded, load_resolved, loaded
from andrea_core.spelling import dotted, nearest

CHANGEABLE = ("policy", "reward", "adjusts", "constraints", "curriculum", "seed")
"""The tables that may differ from the run's: the others decide what was observed, which is given."""


def own_scenario(folder: Path) -> Loaded:
    """Return the scenario of a run as its folder stores it."""
    return load_resolved(folder / SCENARIO)


def other_scenario(
    folder: Path,
    *,
    policy: str | None = None,
    policy_file: Path | None = None,
    settings: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> Loaded:
    """Return a run's scenario with another policy by name, or a scenario file's policy and reward; then `settings`.

    Raises ScenarioError for settings that belong to what was observed, and for a file without a policy.
    """
    layers = read_layers(folder / SCENARIO)
    data = dict(layers.data)
    if policy_file is not None:
        layers, data = _with_file(layers, data, policy_file)
    asked = overrides(settings)
    for override in asked:
        _refuse_given(override)
    if policy is not None:
        landing = data.get("policy", {}).get("landing")
        kept = {} if landing is None else {"landing": landing}
        asked = [Override(("policy",), {"use": policy, **kept}, "--policy"), *asked]
    data["plugins"] = list(
        dict.fromkeys([*data.get("plugins", ()), *(_absolute(name, Path.cwd()) for name in plugins)])
    )
    for override in asked:
        data = apply_override(data, override)
    catalogue = Catalogue.of(data["plugins"], folder=folder)
    try:
        return loaded(data, catalogue, with_overrides(layers, asked))
    except ScenarioError as error:
        if policy is None or not re.search(r"^--policy: policy\.\S+: the key \S+ is missing", str(error), re.MULTILINE):
            raise
        raise ScenarioError(
            f"{error}\n--policy takes the defaults of {policy!r}, and some settings have none: add them, "
            "--set 'policy.KEY=VALUE', or take a whole table [policy] by --policy-file"
        ) from error


def changed_plugins(facts: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """Return a sentence, with both digests, for each plugin of a run that is not what it was."""
    now = {plugin.name: plugin.digest for plugin in catalogue.active}
    return [
        f"the plugin {was['name']} ({was['origin']}) has changed since the run was recorded: "
        f"{was['digest']} then, {now.get(was['name'], 'gone')} now"
        for was in facts["plugins"]
        if now.get(was["name"]) != was["digest"]
    ]


def _with_file(layers: Layers, data: Tree, path: Path) -> tuple[Layers, Tree]:
    """Lay the policy of a scenario file, its reward if it names one and its plugins over a run's settings."""
    file = path / SCENARIO if path.is_dir() else path
    other = read_layers(file)
    if not isinstance(other.data.get("policy"), dict):
        raise ScenarioError(f"{file}: there is no table [policy] in it, so there is nothing to replay")
    taken: Tree = {name: other.data[name] for name in ("policy", "reward") if name in other.data}
    plugins = other.data.get("plugins", [])
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise ScenarioError(f"{file}: plugins must be a list of names and files")
    origins = {**layers.origins, **{place: who for place, who in other.origins.items() if place and place[0] in taken}}
    named = [*data.get("plugins", ()), *(_absolute(name, file.parent) for name in plugins)]
    return Layers(layers.data, origins), {**data, **taken, "plugins": list(dict.fromkeys(named))}


def _absolute(name: str, folder: Path) -> str:
    return str((folder / expanded(name)).resolve()) if name.endswith(".py") else name


def _refuse_given(override: Override) -> None:
    """Raise ScenarioError for a setting that a replay cannot change: the observations are those of the run."""
    if override.path[0] not in CHANGEABLE:
        hint = nearest(override.path[0], CHANGEABLE)
        raise ScenarioError(
            f"--set {dotted(override.place)}: a replay shows what the run recorded, so only "
            f"{', '.join(CHANGEABLE)} can be set{hint}"
        )

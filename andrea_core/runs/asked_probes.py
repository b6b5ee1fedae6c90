"""The probes that someone asks for on a run's checkpoints: its own by name, or others, with settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from andrea_core.errors import RunError, ScenarioError
from andrea_core.overrides import overrides
from andrea_core.plan import slots_of
from andrea_core.plugins import Catalogue
from andrea_core.scenario import Loaded, ProbeSlot
from andrea_core.spelling import dotted, nearest
from andrea_core.structure import converter, problems


def chosen(own: Loaded, names: Sequence[str], settings: Sequence[str]) -> tuple[Loaded, tuple[str, ...]]:
    """Return a run's scenario with other probes added and settings changed, and the names of the probes asked for.

    Without names all of the run's own that look at nothing but a checkpoint. Raises ScenarioError for an unknown probe
    or setting, RunError for a probe that needs what no checkpoint keeps, or when there is none.
    """
    catalogue, had = own.catalogue, slots_of(own.scenario, own.catalogue)
    able = [name for name, slot in had.items() if not slot.component.needs]
    wanted = tuple(dict.fromkeys(names)) or tuple(able or had)
    if not wanted:
        raise RunError("the run has no probes of its own; name some with --probes, as `andrea plugins probes` lists")
    changed = _changed(settings, wanted)
    slots = dict(had)
    for name in wanted:
        if name not in had and name not in catalogue.table["probes"]:
            known = [*had, *catalogue.table["probes"]]
            raise ScenarioError(
                f"no probe is called {name!r}{nearest(name, known) or '; there is ' + ', '.join(dict.fromkeys(known))}"
            )
        if name not in had or name in changed:
            plain = converter(catalogue).unstructure(had[name]) if name in had else {"use": name}
            slots[name] = _made(name, {**plain, **changed.get(name, {})}, catalogue)
        _refuse_needs(name, slots[name])
    scenario = attrs.evolve(own.scenario, probes=tuple(slots.values()))
    return Loaded(scenario, catalogue, own.text), wanted


def _changed(settings: Sequence[str], wanted: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of each probe that `NAME.KEY=VALUE` texts change."""
    changed: dict[str, dict[str, Any]] = {}
    for one in overrides(settings):
        if len(one.path) != 2 or one.path[0] not in wanted:
            raise ScenarioError(
                f"--set {'.'.join(one.path)}: write NAME.KEY=VALUE with a probe that is asked for, "
                f"{', '.join(wanted)}: for example {wanted[0]}.tokens=4096"
            )
        if one.path[1] == "use":
            raise ScenarioError(f"--set {one.path[0]}.use: another probe is asked for by its name, in --probes")
        changed.setdefault(one.path[0], {})[one.path[1]] = one.value
    return changed


def _made(name: str, plain: Mapping[str, Any], catalogue: Catalogue) -> ProbeSlot:
    try:
        made: ProbeSlot = converter(catalogue).structure(plain, ProbeSlot)
    except Exception as error:
        found = problems(error)
        if not found:
            raise
        lines = [f"probe {name}: {dotted(one.path)}: {one.message}" for one in found]
        raise ScenarioError("\n".join(dict.fromkeys(lines))) from error
    return made


def _refuse_needs(name: str, slot: ProbeSlot) -> None:
    needs = ", ".join(sorted(slot.component.needs))
    if needs:
        raise RunError(
            f"the probe {name!r} needs what no checkpoint keeps ({needs}); let it look while a run goes on: put "
            f'[[probes]] use = "{name}" into the scenario'
        )

"""`andrea replay`: show a run's recorded phases to its policy again, or to another one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from andrea_core.runs.replay import Recorded, Replayed, Verdict, Walk
    from andrea_core.scenario import Loaded

DIFFERS = 1
_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="RUN", type=_PATH)
@click.option("--policy", metavar="NAME", help="Show the phases to this policy, with its default settings.")
@click.option("--policy-file", type=_PATH, metavar="FILE", help="Take policy and reward from a scenario file or a run.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key, for example policy.c=2.")
@click.option("--plugin", "plugins", multiple=True, metavar="FILE", help="Activate a plugin: a .py file or a name.")
@click.option("--out", type=_PATH, metavar="PATH", help="Write both walks, phase by phase, to a .csv or a .zarr.")
def replay(
    folder: Path,
    policy: str | None,
    policy_file: Path | None,
    settings: tuple[str, ...],
    plugins: tuple[str, ...],
    out: Path | None,
) -> int:
    """Show the phases that RUN recorded to its policy once more; no text and no model are needed.

    The run's own policy must come to its own weights, bit for bit: exit code 0, else 1 and the first difference.
    Another policy, or other settings, are replayed off-policy: they decide anew, but see what the recorded weights
    brought.
    """
    from andrea_core.runs.folder import check_scenario, read_facts, require_run
    from andrea_core.runs.replay import Recorded
    from andrea_core.runs.replay.asked import changed_plugins, other_scenario, own_scenario
    from andrea_core.runs.replay.walk import refuse_place
    from andrea_core.runs.store import open_run

    _refuse_both(policy, policy_file)
    if out is not None:
        refuse_place(out)
    require_run(folder)
    facts = read_facts(folder)
    check_scenario(folder, facts["digest"])
    own = own_scenario(folder)
    asked = other_scenario(folder, policy=policy, policy_file=policy_file, settings=settings, plugins=plugins)
    recorded = Recorded.of(open_run(folder))
    for text in changed_plugins(facts, own.catalogue):
        click.echo(f"note: {text}", err=True)
    for text in recorded.shorter:
        click.echo(f"note: {text}", err=True)
    click.echo(_heading(recorded, own, facts))
    return _own(own, recorded, facts, out) if asked.text == own.text else _other(asked, own, recorded, out)


def _own(own: "Loaded", recorded: "Recorded", facts: dict[str, Any], out: Path | None) -> int:
    """Replay a run with its own policy; return 0 when it reproduces itself."""
    from andrea_core.runs.replay import Walk, replayed, verdict_of

    phases = list(replayed(own, recorded, own=True))
    verdict = verdict_of(recorded, phases)
    _save(Walk.of(recorded, phases), own, recorded, out, off_policy=False)
    if verdict.first is None:
        inherited = _inherited(recorded, facts)
        kind = "phases of its own" if inherited else "phases"
        which = f"the first {verdict.phases} {kind}, as far as all arrays reach" if recorded.shorter else None
        which = which or f"all {verdict.phases} {kind}"
        click.echo(f"reproduced: {which}, bit for bit (regions, weights, rows, debts, rewards)")
        if inherited:
            click.echo(
                f"its parent's are decided under the parent's scenario: andrea replay {facts['parent'].get('path')}"
            )
        return 0
    for line in (*_differences(verdict), *_machines(recorded, facts)):
        click.echo(line)
    return DIFFERS


def _other(asked: "Loaded", own: "Loaded", recorded: "Recorded", out: Path | None) -> int:
    """Replay a run with another policy and show its walk beside the recorded one."""
    from rich.console import Console

    from andrea_core.runs.replay import Walk, replayed
    from andrea_core.runs.replay.shown import summary, walk_table

    phases = list(replayed(asked, recorded, own=False))
    _tell_dropped(phases, asked)
    walk = Walk.of(recorded, phases)
    _save(walk, asked, recorded, out, off_policy=True)
    click.echo(
        f"off-policy: {_policy(asked)} decides, but every outcome is the recorded run's, trained under the weights of "
        f"{_policy(own)}; what its own weights would have brought is not known"
    )
    Console(markup=False, emoji=False).print(walk_table(walk))
    for line in summary(walk):
        click.echo(line)
    return 0


def _tell_dropped(phases: "list[Replayed]", asked: "Loaded") -> None:
    """Say which scores were not finite; raises RunError when there are no others: the policy would learn nothing."""
    import numpy as np

    from andrea_core.errors import RunError

    dropped = [phase for phase in phases if phase.dropped]
    if not dropped:
        return
    reward = asked.catalogue.name_of("rewards", asked.scenario.reward)
    text = (
        f"{sum(len(phase.dropped) for phase in dropped):,} scores of the reward {reward!r} in {len(dropped)} of "
        f"{len(phases)} phases are not finite and count as no reward, the first in phase {dropped[0].phase} "
        f"(step {dropped[0].step}), {dropped[0].dropped[0]}"
    )
    if all(np.isnan(phase.arrays["reward"]).all() for phase in phases):
        raise RunError(f"{text}; there are no others, so nothing is learnt: change its settings, or scale it down")
    click.echo(f"note: {text}", err=True)


def _save(walk: "Walk", loaded: "Loaded", recorded: "Recorded", out: Path | None, *, off_policy: bool) -> None:
    if out is not None:
        facts = {"replay_of": recorded.run.name, "off_policy": off_policy, "scenario": loaded.text}
        walk.save(out, facts)
        click.echo(f"written to {out}")


def _heading(recorded: "Recorded", loaded: "Loaded", facts: dict[str, Any]) -> str:
    steps = int(recorded.phases["steps"].sum())
    reward = loaded.catalogue.name_of("rewards", loaded.scenario.reward)
    inherited, count = _inherited(recorded, facts), len(recorded)
    whose = ""
    if inherited:
        own = f"{inherited} to {count - 1} its own" if count > inherited else "and none is its own yet"
        step, name = facts["parent"]["step"], facts["parent"].get("name")
        whose = f" (phases 0 to {inherited - 1}, up to step {step:,}, are of its parent {name}, {own})"
    return (
        f"run {recorded.run.name}: {count} phases{whose}, {steps:,} of {loaded.scenario.run.steps:,} steps; "
        f"policy {_policy(loaded)}, reward {reward}"
    )


def _inherited(recorded: "Recorded", facts: dict[str, Any]) -> int:
    """Return how many of the recorded phases are those of a fork's parent; 0 for a run that is no fork."""
    parent = facts.get("parent")
    return int((recorded.phases["start"] < parent["step"]).sum()) if isinstance(parent, dict) else 0


def _policy(loaded: "Loaded") -> str:
    return loaded.catalogue.name_of("policies", loaded.scenario.policy.component)


def _differences(verdict: "Verdict") -> list[str]:
    first = verdict.first
    if first is None:
        return []
    what = f"{first.array} of source {first.source}" if first.source else first.array
    apart = "" if first.ulps is None else f" ({first.ulps:,} ulp{'' if first.ulps == 1 else 's'} apart)"
    return [
        f"differs first in phase {first.phase} (step {first.step}, stage {first.stage}), {what}: "
        f"{first.recorded} recorded, {first.replayed} replayed{apart}",
        f"the weights differ in {verdict.differing} of {verdict.phases} phases, by at most {verdict.largest:.3g}",
    ]


def _machines(recorded: "Recorded", facts: dict[str, Any]) -> list[str]:
    """Return what may explain a difference: another processor, or other versions."""
    from andrea_core.runs.cpu import cpu_type
    from andrea_core.runs.folder import versions

    cpus, old, new = recorded.run.attributes.get("cpus"), facts.get("versions"), versions()
    cpus = [str(cpu) for cpu in cpus] if isinstance(cpus, list) else ["an unknown processor"]
    old = old if isinstance(old, dict) else {}
    other = [
        f"{name} {old.get(name, '?')} then, {version} now" for name, version in new.items() if old.get(name) != version
    ]
    lines = [f"recorded on {', '.join(cpus)}; this is {cpu_type()}", *other]
    if cpus == [cpu_type()] and not other:
        lines.append(
            "the same type of processor and the same versions: the policy, the reward, andrea or the record has changed"
        )
    return lines


def _refuse_both(policy: str | None, policy_file: Path | None) -> None:
    if policy is not None and policy_file is not None:
        raise click.UsageError("--policy and --policy-file both say which policy; give one of them")

"""Races policies over the same seeds: every policy, the controls, and each policy's own mix without its order."""

import re
import tomllib
from collections.abc import Callable, Container, Generator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

from andrea_core.errors import AndreaError, ScenarioError
from andrea_core.scenario import Loaded, load
from andrea_core.simulator.optimum import Optimum, ended, pieces_of, solve
from andrea_core.simulator.purity import started
from andrea_core.simulator.simulation import Simulation
from andrea_core.simulator.verdict import Verdict, uniform, verdict
from andrea_core.simulator.walked import judged
from andrea_core.simulator.workers import uninterrupted, workers

CONTROLS = ("uniform", "proportional", "random")
"""What every race has: no policy is worth its name that does not beat them."""
OWN = "scenario"
"""The name that stands for the policy which the scenario itself has."""
REFERENCE = "@uniform"
"""Stands in a policy's settings for the losses that uniform weights end with: a reference model's, as DoReMi has it."""


@attrs.frozen
class Ground:
    """What all runs of a race share: the scenario's file, how it is shaped, and the truth."""

    scenario: Path
    truth: str
    profile: str | None = None
    scale: float | None = None
    settings: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    def loaded(self, policy: str) -> Loaded:
        """Return the scenario under a policy, as `chosen` reads it; raises AndreaError that names the policy."""
        options: dict[str, Any] = {"profile": self.profile, "scale": self.scale, "plugins": self.plugins}
        if policy == OWN:
            return load(self.scenario, settings=self.settings, **options)
        if REFERENCE in policy:
            policy = policy.replace(REFERENCE, self._reference())
        return chosen(policy, lambda setting: load(self.scenario, settings=(setting, *self.settings), **options))

    def _reference(self) -> str:
        """Return the losses that uniform weights end with, as an inline table by source."""
        simulation = Simulation.of(self.loaded(OWN), self.truth)
        truth, pieces = simulation.truth, pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step)
        losses = truth.loss(ended(pieces, uniform(pieces)))
        names = simulation.loaded.scenario.sources
        return "{" + ", ".join(f'"{name}" = {loss:.6f}' for name, loss in zip(names, losses, strict=True)) + "}"


@attrs.frozen
class Heat:
    """One run of a race."""

    policy: str
    seed: int
    verdict: Verdict


def chosen(policy: str, loading: Callable[[str], Loaded]) -> Loaded:
    """Return what `loading` makes of the setting that chooses a policy: a name, or one with settings, "ucb1(c=2)".

    Raises ScenarioError that names the policy, for a text that is neither and for whatever is wrong with it.
    """
    found = re.fullmatch(r"\s*([^()\"\\]+?)\s*(?:\((.*)\))?\s*", policy)
    if not found:
        raise ScenarioError(f"policy {policy!r}: write a name, or a name with settings, for example ucb1(c=2)")
    name, settings = found[1], f", {found[2]}" if found[2] else ""
    _refuse_syntax(policy, f'{{use="{name}"{settings}}}')
    try:
        return loading(f'policy={{use="{name}"{settings}}}')
    except AndreaError as error:
        raise ScenarioError(f"policy {policy}: {str(error).removeprefix('--set: ')}") from error


def _refuse_syntax(policy: str, table: str) -> None:
    """Raise ScenarioError, with what the parser says, for settings in brackets that are no TOML."""
    try:
        tomllib.loads(f"policy = {table}")
    except tomllib.TOMLDecodeError as error:
        where = f" ({str(error).partition(' (at ')[0]})"
        raise ScenarioError(
            f"policy {policy}: what stands in its brackets is no TOML{where}; write key = value pairs with commas "
            'between them, texts in quotes: ucb1(c=2), odm(mode="exp3")'
        ) from None


def listed(policies: str) -> list[str]:
    """Return the policies of a list with commas between them; commas inside brackets belong to a policy's settings.

    >>> listed("ucb1(c=2, step=0.5),exp3")
    ['ucb1(c=2, step=0.5)', 'exp3']
    """
    parts, depth = [""], 0
    for sign in policies:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def learns(loaded: Loaded) -> bool:
    """Return whether a scenario's policy declares that it learns from what phases show."""
    return str(getattr(getattr(loaded.scenario.policy.component, "traits", None), "pull", "none")) != "none"


def entrants(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the policies of a race: those asked for, each once, and the controls."""
    return tuple(dict.fromkeys([*asked, *CONTROLS]))


def check(ground: Ground, policies: Sequence[str]) -> dict[str, Loaded]:
    """Return the scenario under each policy; raises AndreaError, with the policy's name, for one that cannot start.

    Its settings are read and it is started once, which is all that can be known before it runs.
    """
    return {policy: _started(ground, policy) for policy in policies}


def _started(ground: Ground, policy: str) -> Loaded:
    loaded = ground.loaded(policy)
    try:
        started(Simulation.of(loaded, ground.truth).director)
    except AndreaError as error:
        raise ScenarioError(f"policy {policy}: {error}") from error
    return loaded


def race(
    ground: Ground,
    policies: Sequence[str],
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    tell: Callable[[Heat], None] = lambda heat: None,
    failed: Callable[[str, str], None] | None = None,
    earlier: Sequence[Heat] = (),
) -> list[Heat]:
    """Run every policy under every seed and return the heats, by policy, then seed; `tell` is given each as it ends.

    A policy that cannot run to its end is left out, all its seeds, and `failed` is given its name and the first
    reason. Without `failed`, and for the control that all are compared with, it raises AndreaError with the policy's
    name. The result does not depend on `jobs`. What is among the `earlier` heats is not run again.
    """
    tasks = [(policy, seed) for policy in policies for seed in seeds]
    found = {(heat.policy, heat.seed): heat for heat in earlier}
    out: set[str] = set()
    with closing(_heats(ground, [task for task in tasks if task not in found], jobs, out)) as coming:
        for task, heat in coming:
            if isinstance(heat, Heat):
                found[task] = heat
                tell(heat)
            elif failed is None or task[0] == CONTROLS[0]:
                raise AndreaError(heat)
            elif task[0] not in out:
                out.add(task[0])
                failed(task[0], heat)
    return [found[task] for task in tasks if task[0] not in out]


def _heats(
    ground: Ground, tasks: Sequence[tuple[str, int]], jobs: int, out: Container[str]
) -> Generator[tuple[tuple[str, int], Heat | str]]:
    """Yield what becomes of each task; those of policies that are `out` are not begun where that can be helped."""
    if jobs == 1:
        yield from ((task, run_heat(ground, *task)) for task in tasks if task[0] not in out)
        return
    with workers(jobs) as pool:
        with uninterrupted():
            waiting = {pool.submit(run_heat, ground, *task): task for task in tasks}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def run_heat(ground: Ground, policy: str, seed: int) -> Heat | str:
    """Return one run of a race, or the message of the error that ended it: errors do not all travel well."""
    try:
        simulation, optimum = _prepared(ground, policy)
        loaded = attrs.evolve(simulation.loaded, scenario=attrs.evolve(simulation.loaded.scenario, seed=seed))
        seeded = attrs.evolve(
            simulation,
            loaded=loaded,
            director=attrs.evolve(simulation.director, scenario=loaded.scenario),
            learner=attrs.evolve(simulation.learner, seed=seed),
        )
        trace = seeded.run()
        return Heat(policy, seed, verdict(simulation.truth, judged(seeded, optimum, trace), trace))
    except AndreaError as error:
        return f"policy {policy}, seed {seed}: {error}"


@lru_cache(maxsize=1)
def _prepared(ground: Ground, policy: str) -> tuple[Simulation, Optimum]:
    simulation = Simulation.of(ground.loaded(policy), ground.truth)
    return simulation, _optimum(ground, simulation)


_OPTIMA: dict[Any, Optimum] = {}


def _optimum(ground: Ground, simulation: Simulation) -> Optimum:
    """Return the optimum, which no policy changes: computed once a process."""
    if ground not in _OPTIMA:
        pieces = pieces_of(simulation.loaded, simulation.truth, simulation.tokens_per_step)
        _OPTIMA[ground] = solve(simulation.truth, pieces)
    return _OPTIMA[ground]

"""Pivots: other constraints for a run that is under way, left in its folder and taken up at a phase border."""

import json
from pathlib import Path
from typing import Any

import attrs
import tomli_w
from filelock import FileLock

from andrea_core.changes import changes, in_words
from andrea_core.contracts import ConstraintSet
from andrea_core.errors import AndreaError, InfeasibleRegion, RunError, ScenarioError
from andrea_core.layers import read_toml
from andrea_core.phase import Director, Event, State
from andrea_core.plan import Plan
from andrea_core.reshaping import absolute
from andrea_core.runs.checkpoint import CheckpointFolder
from andrea_core.runs.files import disk_errors, write_text
from andrea_core.runs.folder import PIVOTS, SCENARIO, check_scenario, read_facts, require_run
from andrea_core.runs.soundness import RESTORE
from andrea_core.scenario import Loaded, load_resolved, loaded as checked, unstructure
from andrea_core.spelling import dotted, nearest
from andrea_core.tables import named_sources

_TAKEN = "taken.json"
_MOST_KEYS = 4


@attrs.frozen
class Taken:
    """What became of a pivot: the step of the border at which it was taken up, and why it was refused, if it was."""

    step: int
    refused: str | None = None


@attrs.define(eq=False)
class Pivots:
    """The pivots of a run: files that are only ever added, numbered, and a note of which was taken up when.

    The constraints in force at a step are a function of the two, so a resume and a replay come to the same ones.
    """

    folder: Path
    base: Loaded
    _made: dict[int, Loaded] = attrs.field(factory=dict)

    @classmethod
    def of(cls, run: Path, base: Loaded) -> "Pivots":
        """Return the pivots of a run's folder over its scenario."""
        return cls(run / PIVOTS, base)

    def numbers(self) -> list[int]:
        """Return the numbers of all pivots, ascending."""
        found = sorted(
            int(stem) for path in self.folder.glob("*.toml") if (stem := path.stem).isascii() and stem.isdigit()
        )
        return [number for number in found if (self.folder / f"{number:04d}.toml").is_file()]

    def taken(self) -> dict[int, Taken]:
        """Return what became of each pivot that was taken up. Raises RunError when the note is damaged."""
        path = self.folder / _TAKEN
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return {int(number): Taken(int(one["step"]), one["refused"]) for number, one in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise RunError(f"{path} is damaged ({error}); {RESTORE}") from error

    def at_border(self, director: Director, state: State) -> None:
        """Take up what waits, at the border before a new phase: note it for good before anything depends on it.

        A pivot under which the phase cannot be decided is refused: the run goes on as before.
        """
        taken = self.taken()
        waiting = [number for number in self.numbers() if number not in taken]
        if not waiting or any(one.step > state.step for one in taken.values()):
            return  # what was taken up at a later step, before the run was cut off, comes first
        for number in waiting:
            taken[number] = Taken(state.step, self._problem(number, director, state))
        plain = {number: attrs.asdict(one) for number, one in taken.items()}
        write_text(self.folder / _TAKEN, json.dumps(plain, indent=1))

    def director(self, director: Director, step: int) -> Director:
        """Return a director under the constraints in force for the phase that begins at a step."""
        made = self._in_force(step)
        if director.scenario.constraints is made.scenario.constraints:
            return director
        return attrs.evolve(director, scenario=attrs.evolve(director.scenario, constraints=made.scenario.constraints))

    def events(self, step: int) -> tuple[Event, ...]:
        """Return what the record says of the pivots that were taken up at a step."""
        found: list[Event] = []
        for number, one in sorted(self.taken().items()):
            if one.step != step:
                continue
            if one.refused is not None:
                found.append(("pivot_refused", f"pivot {number} is refused, the constraints stay: {one.refused}"))
            else:
                found.append(("pivot", f"pivot {number} changes the constraints: {self.change(number)}"))
        return tuple(found)

    def _in_force(self, step: int) -> Loaded:
        good = [number for number, one in self.taken().items() if one.refused is None and one.step <= step]
        return self._loaded(max(good)) if good else self.base

    def _loaded(self, number: int) -> Loaded:
        if number not in self._made:
            path = self.folder / f"{number:04d}.toml"
            self._made[number] = pivoted(self.base, read_toml(path).get("constraints", []), path)
        return self._made[number]

    def _problem(self, number: int, director: Director, state: State) -> str | None:
        try:
            constraints = self._loaded(number).scenario.constraints
            trial = attrs.evolve(director, scenario=attrs.evolve(director.scenario, constraints=constraints))
            trial.decide(state)
        except AndreaError as error:
            return str(error)
        return None

    def change(self, number: int) -> str:
        """Return in words what a pivot changes in the constraints before it: taken up, or still waiting."""
        taken = self.taken()
        before = [n for n in self.numbers() if n < number and (n not in taken or taken[n].refused is None)]
        was = self._loaded(max(before)) if before else self.base
        one, other = (unstructure(made.scenario, made.catalogue) for made in (was, self._loaded(number)))
        return (
            in_words(changes(*({"constraints": plain.get("constraints", [])} for plain in (one, other)))) or "nothing"
        )


def pivoted(base: Loaded, constraints: Any, path: Path) -> Loaded:
    """Return a scenario with other constraints, checked like any; raises ScenarioError that names the file."""
    data = {**unstructure(base.scenario, base.catalogue), "constraints": constraints}
    return checked(data, base.catalogue, lambda _place: str(path))


def offer(run: Path, file: Path) -> tuple[int, str]:
    """Check a file of constraints against a run and leave it in the run's folder; return its number and the change.

    Raises RunError when the run is none or is over, ScenarioError, InfeasibleRegion when the constraints are wrong; the
    run is then untouched.
    """
    require_run(run)
    check_scenario(run, read_facts(run)["digest"])
    base = load_resolved(run / SCENARIO)
    made = pivoted(base, _constraints(file), file)
    made = attrs.evolve(made, scenario=absolute(made.scenario, Path.cwd()))
    step = max(CheckpointFolder(run / "checkpoints").steps(), default=0)
    if step >= base.scenario.run.steps:
        raise RunError(f"{run} is complete: no phase is left that other constraints could change; fork it instead")
    _refuse_impossible(made, step, file)
    pivots = Pivots.of(run, base)
    with disk_errors(str(pivots.folder)):
        pivots.folder.mkdir(exist_ok=True)
        with FileLock(pivots.folder / ".lock"):
            number = max(pivots.numbers(), default=0) + 1
            plain = unstructure(made.scenario, made.catalogue)["constraints"]
            write_text(pivots.folder / f"{number:04d}.toml", tomli_w.dumps({"constraints": plain}))
    return number, pivots.change(number)


def _constraints(file: Path) -> Any:
    data = read_toml(file)
    for key in data:
        if key != "constraints":
            raise ScenarioError(
                f"{file}: unknown key {key!r}{nearest(key, ['constraints'])}; a pivot changes only the constraints "
                "that hold in all stages; anything else is a fork: `andrea fork`"
            )
    if "constraints" not in data:
        raise ScenarioError(f'{file}: it has no constraints; write [[constraints]] use = "...", or constraints = []')
    return data["constraints"]


def _refuse_impossible(made: Loaded, step: int, file: Path) -> None:
    """Raise the error of constraints that cannot hold, headed by the pivot's file and its keys that are at fault."""
    try:
        refuse_infeasible(made, step)
    except InfeasibleRegion as error:
        error.args = (f"{file}: {', '.join(_at_fault(made, step, error))}: {error}",)
        raise
    except AndreaError as error:
        raise type(error)(f"{file}: constraints: {error}") from error


def _at_fault(made: Loaded, step: int, error: InfeasibleRegion) -> list[str]:
    """Return the keys of the sets without any one of which all would be feasible: those of the sources that clash."""
    sets = made.scenario.constraints
    places = [f"[{i}]" for i in range(len(sets)) if _feasible(made, step, (*sets[:i], *sets[i + 1 :]))]
    clashing = {name for bound in error.clash for name in str(bound.source).split(" + ")}
    named = [place for place, name in named_sources(sets) if name in clashing]
    keys = [[place for place in named if place[0] == index] or [(index,)] for index in places]
    found = [dotted(("constraints", *place)) for places in keys for place in places] or ["constraints"]
    return found[:_MOST_KEYS] + [f"and {len(found) - _MOST_KEYS} more"] * (len(found) > _MOST_KEYS)


def _feasible(made: Loaded, step: int, constraints: tuple[ConstraintSet, ...]) -> bool:
    try:
        refuse_infeasible(attrs.evolve(made, scenario=attrs.evolve(made.scenario, constraints=constraints)), step)
    except AndreaError:
        return False
    return True


def refuse_infeasible(made: Loaded, step: int) -> None:
    """Look at every stage that is not over yet, at its first step to come and its last. Raises InfeasibleRegion."""
    plan = Plan.of(made)
    for stage in plan.stages:
        if stage.until > step:
            for at in dict.fromkeys((max(stage.start, step), stage.until - 1)):
                plan.region(stage, at)

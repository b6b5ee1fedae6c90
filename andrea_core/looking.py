"""Lets probes look at the model when their time has come, and gathers what they found."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from andrea_core.guard import Blame, blaming, names_of_record, numbers
from andrea_core.model.randomness import untouched_generators
from andrea_core.phase import Director, Phase, State
from andrea_core.rng import generator
from andrea_core.scenario import ProbeSlot
from andrea_core.values import Findings, Measurement, Vector

if TYPE_CHECKING:
    import torch

    from andrea_core.model.view import ModelView

HELDOUT_TOKENS = 2048
"""Held-out tokens a source that a policy or reward which needs them sees after each phase."""


@attrs.frozen(eq=False)
class Looker:
    """The probes of a run. `view` makes the read-only view of the model at a step."""

    director: Director
    view: Callable[[int], "ModelView"]
    device: "torch.device"

    @property
    def heldout_needed(self) -> bool:
        """Whether the policy or the reward asks for the held-out loss after each phase."""
        scenario = self.director.scenario
        return "heldout" in scenario.policy.component.needs | scenario.reward.needs

    def heldout_loss(self) -> Vector:
        """Return the (K,) held-out losses in nats a token, on the same windows every time."""
        view = self.view(0)
        return np.array([_mean(view, index) for index in range(len(self.director.sources))])

    def look(self, state: State, phase: Phase | None, total: int) -> tuple[Findings, tuple[Any, ...]]:
        """Return what the probes that are due found at a phase border, and all probes' states."""
        measured: dict[str, Mapping[str, Measurement]] = {}
        states = list(state.probes)
        view = self.view(state.step)
        for index, slot in enumerate(self.director.scenario.probes):
            if due(slot, state.step, phase, total):
                name = self._name(index)
                rng = generator(self.director.scenario.seed, "probe", name, state.step)
                blame = self.director.blame("probes", slot.component, state, state.stage)
                with blaming(blame), untouched_generators(self.device), untouched_settings():
                    found, states[index] = slot.component.measure(states[index], view, rng)
                measured[name] = _checked(found, len(self.director.sources), blame)
        return Findings(measured, _stop(measured)), tuple(states)

    def groups(self) -> dict[str, str]:
        """Return where in the record each probe's measurements go, by the probe's name."""
        slots = enumerate(self.director.scenario.probes)
        named = [(self._name(index), slot.component) for index, slot in slots]
        return {name: str(getattr(component, "group", f"probes/{name}")) for name, component in named}

    def _name(self, index: int) -> str:
        """Return a probe's name in the record; a second one of the same kind gets a number."""
        slots = self.director.scenario.probes
        names = [self.director.catalogue.name_of("probes", slot.component) for slot in slots]
        earlier = names[:index].count(names[index])
        return names[index] if not earlier else f"{names[index]}-{earlier + 1}"


@contextmanager
def untouched_settings() -> Iterator[None]:
    """Give PyTorch its present threads, default type and gradient mode back at the end, also after an error."""
    import torch

    threads, dtype, gradients = torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)


def _checked(found: Any, count: int, blame: Blame) -> dict[str, Measurement]:
    """Return a probe's measurements with numbers as float64, or raise PluginError for what the record cannot keep."""
    names_of_record(found, "measurements", blame)
    checked = {}
    for name, one in found.items():
        if not isinstance(one, Measurement) or (name == "stop" and not isinstance(one.value, str)):
            raise blame.fault(f"returned {one!r} as measurement {name!r}")
        value = one.value
        if isinstance(value, str):
            value = value.encode("utf-8", "replace").decode()
        else:
            value = numbers(value, (count,) if np.ndim(value) else (), f"measurement {name!r}", blame)
        checked[name] = attrs.evolve(one, value=value)
    return checked


def due(slot: ProbeSlot, step: int, phase: Phase | None, total: int) -> bool:
    """Return whether a probe looks at this border: the start, a stage's end, the end, or a multiple of `every`.

    Without a phase it is the start, or, at a later step, the end of a run that was stopped early.
    """
    if phase is None:
        return slot.at_end if step else slot.at_start
    if step == total and (slot.at_end or slot.at_stage_borders):
        return True
    if step == phase.stage.until and slot.at_stage_borders:
        return True
    return slot.every is not None and step // slot.every > (step - phase.steps) // slot.every


def _stop(measured: Mapping[str, Mapping[str, Measurement]]) -> str | None:
    for name, found in measured.items():
        if "stop" in found:
            return f"{name}: {found['stop'].value}"
    return None


def _mean(view: "ModelView", index: int) -> float:
    windows = view.heldout(index, HELDOUT_TOKENS)
    tokens = windows.shape[0] * (windows.shape[1] - 1)
    return float(view.row_losses(windows).sum() / tokens) if tokens else float("nan")

"""The trainer: one optimiser step at a time, what a phase showed kept on the device until asked, exact resume."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from andrea_core.errors import RunError
from andrea_core.model.border import Border, without_border
from andrea_core.model.gpt import GPT, build_model
from andrea_core.model.held import held
from andrea_core.model.objective import mean_one, objective, parts
from andrea_core.model.optimiser import build_optimiser, moments, restore_moments
from andrea_core.model.pace import Pace
from andrea_core.model.precision import Forward
from andrea_core.model.quiet import quiet
from andrea_core.model.randomness import random_state, restore_random_state
from andrea_core.model.ranks import ALONE, Ranks
from andrea_core.model.settings import ModelShape, OptimizerSettings
from andrea_core.model.shown import PhaseLosses as PhaseLosses, Shown
from andrea_core.model.spikes import SpikeGuard
from andrea_core.rng import seed_of

Tokens = npt.NDArray[np.integer[Any]] | Tensor


class Trainer:
    """A model, its optimiser, and the record of the phase in progress.

    Nothing in `step` waits for the device. On the CPU equal seeds, data and thread counts give equal bits, also across
    `state` and `load`. Construction seeds PyTorch's global generators, from which dropout draws.

    With `loss_after` every step ends with a second forward pass over its own rows: without gradients or dropout, so
    that training goes on bit for bit as without it. It costs about a third of a step.

    Of several `ranks` each takes its part of a step's rows, in the rows' order; all get what all rows showed, and the
    update is that of all rows. `parallel` is how they hold the model: "ddp" or "fsdp".

    `pace` says which settings are in force and which steps the schedule runs over; whoever begins a stage sets it.
    """

    def __init__(
        self,
        shape: ModelShape,
        optimizer: OptimizerSettings,
        *,
        vocabulary: int,
        rows: int,
        total_steps: int,
        seed: int,
        device: str | torch.device = "cpu",
        loss_after: bool = False,
        ranks: Ranks = ALONE,
        parallel: str = "ddp",
    ) -> None:
        self.shape, self.settings = shape, optimizer
        self.vocabulary, self.rows, self.own = vocabulary, rows, ranks.rows(rows)
        self.pace = Pace(optimizer, 0, total_steps)
        self.loss_after, self.ranks = loss_after, ranks
        self.device = torch.device(device)
        self.model: GPT = build_model(shape, vocabulary, seed_of(seed, "weights"), self.device)
        self.held = held(self.model, optimizer, Forward(self.model, optimizer, self.device), ranks, parallel)
        self.optimizer = build_optimiser(self.model, optimizer)
        self.guard = SpikeGuard(optimizer.spike, self.device) if optimizer.spike.action != "off" else None
        self.steps_done = self.rewinds = 0
        self._border: Border | None = None
        self._shown = Shown(rows, self.device, ranks, after=loss_after, guarded=self.guard is not None)
        self._seed = seed
        torch.manual_seed(seed_of(seed, "dropout"))

    @property
    def phase_steps(self) -> int:
        """The number of steps taken since the phase began."""
        return self._shown.filled

    def begin(self, max_steps: int) -> None:
        """Start a new phase of at most `max_steps` steps; a longer one only costs a copy."""
        self._shown.begin(max_steps)
        if self.guard is not None and self.settings.spike.action == "rewind":
            self._border = None  # an older one goes first: never are there two
            self._border = Border.of(self.model, self.optimizer, self.guard, self.device)

    def clear(self) -> None:
        """Forget what the phase showed: it stays."""
        self._shown.begin(0)
        self._border, self.rewinds = None, 0

    @property
    def may_rewind(self) -> bool:
        """Whether the phase can be undone: its beginning is kept, and there were not too many rewinds in a row."""
        return self._border is not None and self.rewinds < self.settings.spike.rewinds

    def rewind(self) -> None:
        """Go back to where the phase began, and count it; all ranks take part. Raises ValueError without a phase."""
        if self._border is None or self.guard is None:
            raise ValueError("no phase has begun that could be undone")
        self._border.back(self.model, self.optimizer, self.guard, self.device, self.settings)
        self.held.refresh()
        self.steps_done, self.rewinds = self.steps_done - self._shown.filled, self.rewinds + 1
        self._shown.begin(0)

    def step(self, inputs: Tokens, targets: Tokens, weights: npt.NDArray[np.float32] | None = None) -> None:
        """Take one optimiser step on tokens and their successors, both (rows, context) integers.

        `weights` (rows,) > 0 weight the rows in what is minimised, scaled to mean 1 over the step; what is recorded
        stays unweighted. A rank of several takes its own rows (`own`), and the weights of all. Raises ValueError for
        another number of rows, or rows longer than the context.
        """
        self._check(inputs, targets)
        self._redraw()
        inputs, targets = self._tokens(inputs), self._tokens(targets)
        losses_BT, loss = self._backward(inputs, targets, weights)
        norm = self._clip()
        self.optimizer.pace(self.pace.rate(self.steps_done), self.pace.settings.weight_decay)
        verdict = self.guard.judge(self.steps_done, self.ranks.mean(loss)) if self.guard is not None else ()
        self.optimizer.step(*verdict[1:])
        self._shown.add(losses_BT, (loss, norm, *verdict))
        if self.loss_after:
            with quiet(self.model):
                self._shown.add_after(self.model.row_losses(inputs, targets))
        self.steps_done += 1

    def collect(self) -> PhaseLosses:
        """Return what the phase showed so far, in one copy from the device; values that are not finite stay so."""
        first = self.steps_done - self._shown.filled
        return self._shown.losses([self.pace.rate(step) for step in range(first, self.steps_done)])

    def state(self) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Any]]:
        """Return all that a resume needs: the model's tensors, the optimiser's, and numbers and arrays.

        The tensors are the live ones, not copies: write them out before the next step. Of several ranks all take part,
        and whatever their number, a trainer on its own can go on from what they return.
        """
        whole = self.held.whole
        model = {name: whole(tensor.detach()) for name, tensor in self.model.state_dict().items()}
        kept = {name: whole(tensor) for name, tensor in moments(self.model, self.optimizer).items()}
        extra = {"steps_done": self.steps_done, "record": self._shown.table().copy()}
        if self.guard is not None:
            extra |= {"spike_losses": self.guard.state(), "rewinds": self.rewinds}
        if self._border is not None and self.phase_steps:
            tensors, extra["border"] = self._border.packed(whole)
            kept |= tensors
        return model, kept, extra | random_state(self.device)

    def load(self, model: Mapping[str, Tensor], optimizer: Mapping[str, Tensor], extra: Mapping[str, Any]) -> None:
        """Continue from what `state` returned, copying every tensor; raises RunError when it is of another model."""
        self.load_model(model)
        restore_moments(self.model, self.optimizer, without_border(optimizer), self.settings, self.held.own)
        self.rewinds, border = int(extra.get("rewinds", 0)), extra.get("border")
        self._border = None if border is None else Border.unpacked(optimizer, border, self.model, self.held.own)
        self._shown.load(extra["record"])
        self.steps_done = int(extra["steps_done"])
        if self.guard is not None:
            self.guard.load(extra.get("spike_losses"))
        restore_random_state(self.device, extra)

    def load_model(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy whole tensors into the model; raises RunError when they are of another one. All ranks take part."""
        own = self.model.state_dict()
        for name in sorted(own.keys() ^ tensors.keys()):
            where = "lacks" if name in own else "has the unknown"
            raise RunError(f"the checkpoint's model {where} tensor {name}: it belongs to another model")
        for name, tensor in tensors.items():
            if tensor.shape != own[name].shape:
                shapes = f"{tuple(tensor.shape)} in the checkpoint, {tuple(own[name].shape)} in the scenario"
                raise RunError(f"the model's tensor {name} is {shapes}: it belongs to another model")
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(self.held.own(tensor, own[name]))
        self.held.refresh()

    def _check(self, inputs: Tokens, targets: Tokens) -> None:
        rows = self.rows // self.ranks.size
        if inputs.shape != targets.shape or inputs.shape[0] != rows or inputs.shape[1] > self.shape.context:
            got = f"inputs {tuple(inputs.shape)}, targets {tuple(targets.shape)}"
            raise ValueError(f"a batch is ({rows}, up to {self.shape.context}) tokens twice, got {got}")

    def _tokens(self, tokens: Tokens) -> Tensor:
        host = tokens if isinstance(tokens, Tensor) else torch.from_numpy(np.array(tokens, dtype=np.int64))
        return self._sent(host)

    def _sent(self, host: Tensor) -> Tensor:
        """Return a tensor on the device; from pinned memory a GPU fetches it while it computes."""
        if self.device.type == "cuda" and host.device.type == "cpu":
            host = host.pin_memory()
        return host.to(self.device, non_blocking=True)

    def _backward(
        self, inputs: Tensor, targets: Tensor, weights: npt.NDArray[np.float32] | None
    ) -> tuple[Tensor, Tensor]:
        """Leave the objective's gradients in the parameters; return the losses (B, T) and their mean."""
        weights_B = None
        if weights is not None:
            weights_B = mean_one(self._sent(torch.from_numpy(np.array(weights, np.float32))))[self.own]
        z_loss, rows, found, done = self.settings.z_loss, self.rows // self.ranks.size, list[Tensor](), 0
        for tokens_BT, targets_BT, part_B in parts(inputs, targets, weights_B, self.settings.micro_rows or rows):
            done += len(tokens_BT)
            with self.held.part(last=done == rows):
                losses_BT, log_z_BT = self.held(tokens_BT, targets_BT, normaliser=z_loss > 0)
                goal = objective(losses_BT, log_z_BT, part_B, z_loss)
                if not found:
                    self.optimizer.zero_grad()
                whole = len(tokens_BT) == rows
                (goal if whole else goal * (len(tokens_BT) / rows)).backward()  # type: ignore[no-untyped-call]
            found.append(losses_BT.detach())
        if whole and weights is None and not z_loss:
            return found[0], goal.detach()
        losses_BT = found[0] if whole else torch.cat(found)
        return losses_BT, losses_BT.mean()

    def _clip(self) -> Tensor:
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = self.held.whole(get_total_norm([p.grad for p in parameters if p.grad is not None]))
        if self.pace.settings.clip:
            clip_grads_with_norm_(parameters, self.pace.settings.clip, norm)
        return norm

    def _redraw(self) -> None:
        """Give each rank a dropout of its own that depends on the step alone; one that trains alone draws on."""
        if self.ranks.size > 1 and self.shape.dropout:
            torch.manual_seed(seed_of(self._seed, "dropout", self.steps_done, self.ranks.index))

"""Where training stands, for those who look: learning rate, Adam's preconditioner, the update that is next, stages."""

import copy
from collections.abc import Mapping, Sequence

import attrs
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from andrea_core.model.optimiser import build_optimiser, moments, restore_moments
from andrea_core.model.settings import OptimizerSettings
from andrea_core.model.trainer import Trainer


@attrs.frozen(eq=False)
class Course:
    """A trainer that is only read, and the stages of its run: the indices of the sources that each may draw from."""

    trainer: Trainer
    stages: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict)

    @property
    def settings(self) -> OptimizerSettings:
        """The optimiser's settings in force."""
        return self.trainer.pace.settings

    @property
    def learning_rate(self) -> float:
        """The learning rate of the step that is next."""
        return self.trainer.pace.rate(self.trainer.steps_done)

    def moments(self) -> dict[str, Tensor]:
        """Return copies of the optimiser's tensors as `<parameter>.<name>`; none before the first step."""
        return {name: tensor.detach().clone() for name, tensor in self._moments().items()}

    def preconditioner(self, names: Sequence[str]) -> Tensor | None:
        """Return the diagonal (n,) of P = (1 - beta1^t) (sqrt(v / (1 - beta2^t)) + eps) after t steps of Adam.

        An AdamW step is theta - lr m / P with the moments m and v that it keeps, weight decay apart (Cohen et al. 2022,
        2207.14484). None when one of the named parameters is not Adam's, or no step was taken.
        """
        kept = self._moments()
        if not all(f"{name}.exp_avg_sq" in kept for name in names):
            return None
        first, second, eps = self.settings.beta1, self.settings.beta2, self.settings.eps
        pieces = []
        for name in names:
            steps, squares = float(kept[f"{name}.step"]), kept[f"{name}.exp_avg_sq"].detach()
            root = (squares / (1 - second**steps)).sqrt() + eps
            pieces.append((root * (1 - first**steps)).reshape(-1))
        return torch.cat(pieces)

    def next_update(self, gradient: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what the optimiser's next step would add to each parameter if the gradient were this one.

        Clipping, momentum, weight decay and the schedule are those of the run. The step is taken by a copy: memory of
        a second model and optimiser. Parameters without a gradient are 0 in it.
        """
        model = copy.deepcopy(self.trainer.model)
        optimiser = build_optimiser(model, self.settings)
        restore_moments(model, optimiser, self._moments(), self.settings)
        for name, parameter in model.named_parameters():
            given = gradient.get(name)
            parameter.grad = torch.zeros_like(parameter) if given is None else given.detach().to(parameter).clone()
        if self.settings.clip:
            clip_grad_norm_(list(model.parameters()), self.settings.clip)
        for group in optimiser.param_groups:
            group["lr"] = self.learning_rate
        optimiser.step()
        before = dict(self.trainer.model.named_parameters())
        return {name: after.detach() - before[name].detach() for name, after in model.named_parameters()}

    def _moments(self) -> dict[str, Tensor]:
        return moments(self.trainer.model, self.trainer.optimizer)

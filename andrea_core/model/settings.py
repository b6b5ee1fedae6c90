"""Settings of the model and the optimiser, and the named model sizes."""

import attrs

from andrea_core.fields import fraction, number, one_of, path, positive, span
from andrea_core.spelling import nearest

MOST_LAYERS, WIDEST, LONGEST_CONTEXT = 10_000, 2**17, 2**22
"""Bounds beyond every model that was ever trained: a slip of the keyboard is refused before memory is asked for."""


@attrs.frozen
class ModelShape:
    """The size of a decoder: `layers` blocks of `width` channels and `heads` heads over at most `context` tokens.

    `dropout` is the probability of dropping an activation while training. `logit_cap` c bends logits x to c tanh(x / c)
    (Gemma Team 2024, 2408.00118), 0 leaves them. `pad_vocabulary` rounds the rows of embedding and head up to a
    multiple of it, which GPUs like; the added rows count in no loss, no sample and no size. `bias`, `tied_head` and
    `activation = "gelu_tanh"` together make the model GPT-2's. Raises ValueError when a size is below 1 or out of all
    bounds, or the heads do not divide the width.
    """

    layers: int = number(at_least=1, at_most=MOST_LAYERS)
    heads: int = number(at_least=1, at_most=WIDEST)
    width: int = number(at_least=1, at_most=WIDEST)
    context: int = number(at_least=1, at_most=LONGEST_CONTEXT)
    dropout: float = fraction(default=0.0)
    logit_cap: float = number(default=0.0, at_least=0, at_most=1e6)
    pad_vocabulary: int = number(default=1, at_least=1, at_most=2**16)
    bias: bool = False
    tied_head: bool = False
    activation: str = one_of("gelu", "gelu_tanh", default="gelu")

    def parameters(self, vocabulary: int) -> int:
        """Return the number of parameters in matrices: V d + T d + 12 L d^2 + V d, without the last for a tied head."""
        embeddings = 1 if self.tied_head else 2
        return (embeddings * vocabulary + self.context + 12 * self.layers * self.width) * self.width

    def vectors(self) -> int:
        """Return the number of parameters in vectors: norm gains (2 L + 1) d and, with `bias`, as many and 9 L d."""
        norms = (2 * self.layers + 1) * self.width
        return 2 * norms + 9 * self.layers * self.width if self.bias else norms

    def __attrs_post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by heads {self.heads}")


SCHEDULES = ("cosine", "wsd", "inverse_sqrt", "constant")

NO_PARTED_MUON = '"fsdp" cannot train with Muon, which needs whole matrices; use run.parallel = "ddp", or AdamW'
"""Why the two settings do not go together, whatever the number of ranks: a run may go on with another."""

SIZES = ("layers", "heads", "width", "context")

PRESETS = {
    "andrea-12m": ModelShape(layers=6, heads=12, width=384, context=1024),
    "andrea-120m": ModelShape(layers=12, heads=12, width=768, context=1024),
    "laptop": ModelShape(layers=4, heads=4, width=128, context=128),
    "tiny": ModelShape(layers=2, heads=2, width=32, context=32),
}
"""The named sizes. `andrea-*` are those of the ANDREA models; `laptop` and `tiny` are this project's own."""


@attrs.frozen
class ModelSettings:
    """The `[model]` table: a preset's name, or sizes, or a preset with some sizes replaced.

    `init_from` names GPT-2 weights to start from instead of random ones: a folder with `config.json` and
    `model.safetensors`, as `transformers` and `andrea export` write it. Shape and vocabulary must be the same.
    """

    preset: str | None = None
    layers: int | None = number(default=None, at_least=1, at_most=MOST_LAYERS)
    heads: int | None = number(default=None, at_least=1, at_most=WIDEST)
    width: int | None = number(default=None, at_least=1, at_most=WIDEST)
    context: int | None = number(default=None, at_least=1, at_most=LONGEST_CONTEXT)
    dropout: float = fraction(default=0.0)
    logit_cap: float = number(default=0.0, at_least=0, at_most=1e6)
    pad_vocabulary: int = number(default=1, at_least=1, at_most=2**16)
    bias: bool = False
    tied_head: bool = False
    activation: str = one_of("gelu", "gelu_tanh", default="gelu")
    init_from: str | None = path(default=None)

    def resolve(self) -> ModelShape:
        """Return the shape that the settings name; raises ValueError when they name none, or one that cannot be."""
        sizes = {name: getattr(self, name) for name in SIZES}
        given = {name: size for name, size in sizes.items() if size is not None}
        extras = {
            field.name: getattr(self, field.name) for field in attrs.fields(ModelShape) if field.name not in sizes
        }
        if self.preset is not None:
            return attrs.evolve(_preset(self.preset), **given, **extras)
        missing = [name for name in sizes if name not in given]
        if missing:
            raise ValueError(f"without a preset the model also needs {', '.join(missing)}")
        return ModelShape(**given, **extras)


@attrs.frozen
class SpikeSettings:
    """The `[optimizer.spike]` table: what to do with a step whose mean loss lies far above those before it.

    Such a step's loss exceeds `factor` times the median of the last `window` steps' losses, or is not a number.
    `action = "skip"` leaves the weights, and what the optimiser remembers, as they were; "off" looks at nothing.
    Every loss enters the median, a skipped step's too, so that a lasting rise, as a harder stage brings it, is accepted
    after half a window; nothing is skipped before half a window has been seen.

    `action = "rewind"` skips, and at the end of the phase undoes all of it: weights, optimiser and median go back to
    where the phase began, the rows up to its last spike are passed over, and the phase is decided and trained anew
    (after Chowdhery et al. 2022, PaLM, section 5.1). After `rewinds` such returns in a row it stays, spikes skipped.
    """

    action: str = one_of("off", "skip", "rewind", default="off")
    factor: float = number(default=1.5, above=1)
    window: int = number(default=32, at_least=2, at_most=2**16)
    rewinds: int = number(default=2, at_least=1, at_most=2**10)


@attrs.frozen
class OptimizerSettings:
    """The `[optimizer]` table: AdamW (Loshchilov, Hutter 2019), Muon or SGD with warm-up, decay and clipping.

    `lr` is the peak learning rate, `warmup` the steps of its linear rise (0 for none), `final` the fraction of it that
    a `cosine` or `wsd` schedule ends at, `decay` the part of the run over which `wsd` falls. `use = "muon"` gives the
    blocks' matrices to Muon and the rest to AdamW, at one `lr`. `beta1`, `beta2`, `eps` are AdamW's; `momentum` is
    Muon's and SGD's (SGD usually wants 0.9). `weight_decay` acts on matrices only. `clip` bounds the L2 norm of all
    gradients together; 0 switches it off.

    `micro_rows` of a step's rows go through the model together and their gradients are added up (gradient
    accumulation); 0 takes all at once. `z_loss` is the weight of the squared log Z in what is minimised (Chowdhery et
    al. 2022, PaLM, section 5, with 1e-4). `precision = "bfloat16"` multiplies in bfloat16 and keeps weights, gradients
    and sums in float32; `compile = "on"` compiles the model; "auto" does both on CUDA and neither elsewhere.
    """

    use: str = one_of("adamw", "muon", "sgd", default="adamw")
    lr: float = positive(default=3e-4)
    warmup: int = span(default=2000, at_least=0)
    schedule: str = one_of(*SCHEDULES, default="cosine")
    final: float = fraction(default=0.1)
    decay: float = fraction(default=0.2)
    beta1: float = number(default=0.9, at_least=0, below=1)
    beta2: float = number(default=0.999, at_least=0, below=1)
    eps: float = positive(default=1e-8)
    momentum: float = number(default=0.95, at_least=0, below=1)
    weight_decay: float = number(default=0.1, at_least=0, at_most=1e6)
    clip: float = number(default=1.0, at_least=0)
    micro_rows: int = number(default=0, at_least=0)
    z_loss: float = number(default=0.0, at_least=0, at_most=1e6)
    precision: str = one_of("auto", "float32", "bfloat16", default="auto")
    compile: str = one_of("auto", "on", "off", default="auto")
    spike: SpikeSettings = attrs.field(factory=SpikeSettings)


def _preset(name: str) -> ModelShape:
    if name not in PRESETS:
        raise ValueError(f"unknown model preset {name!r}{nearest(name, PRESETS)}")
    return PRESETS[name]

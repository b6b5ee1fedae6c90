"""Probes: held-out loss, text, curvature, basins, slices, path, attention, embedding, memorisation, noise, rewards."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.probes.adam_sharpness import AdamSharpness
from andrea_plugins.probes.attention import Attention
from andrea_plugins.probes.barrier import Barrier
from andrea_plugins.probes.basin_width import BasinWidth
from andrea_plugins.probes.cliff import Cliff
from andrea_plugins.probes.connectivity import Connectivity
from andrea_plugins.probes.critical_sharpness import CriticalSharpness
from andrea_plugins.probes.embedding import Embedding
from andrea_plugins.probes.heldout import Heldout
from andrea_plugins.probes.memorisation import Memorisation
from andrea_plugins.probes.noise_scale import NoiseScale
from andrea_plugins.probes.path import Path
from andrea_plugins.probes.perturbation_sharpness import PerturbationSharpness
from andrea_plugins.probes.reward_audit import RewardAudit
from andrea_plugins.probes.sharpness import Sharpness
from andrea_plugins.probes.slices import Slices
from andrea_plugins.probes.spectrum import Spectrum
from andrea_plugins.probes.text_health import TextHealth
from andrea_plugins.probes.trace import Trace


@hookimpl
def andrea_probes() -> Mapping[str, type]:
    """Register the built-in probes."""
    return {
        "adam_sharpness": AdamSharpness,
        "attention": Attention,
        "barrier": Barrier,
        "basin_width": BasinWidth,
        "cliff": Cliff,
        "connectivity": Connectivity,
        "critical_sharpness": CriticalSharpness,
        "embedding": Embedding,
        "heldout": Heldout,
        "memorisation": Memorisation,
        "noise_scale": NoiseScale,
        "path": Path,
        "perturbation_sharpness": PerturbationSharpness,
        "reward_audit": RewardAudit,
        "sharpness": Sharpness,
        "slices": Slices,
        "spectrum": Spectrum,
        "text_health": TextHealth,
        "trace": Trace,
    }

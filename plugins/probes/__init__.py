"""Probes: held-out loss, the health of sampled text, and the curvature of the loss."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.probes.adam_sharpness import AdamSharpness
from andrea_plugins.probes.critical_sharpness import CriticalSharpness
from andrea_plugins.probes.heldout import Heldout
from andrea_plugins.probes.sharpness import Sharpness
from andrea_plugins.probes.spectrum import Spectrum
from andrea_plugins.probes.text_health import TextHealth
from andrea_plugins.probes.trace import Trace


@hookimpl
def andrea_probes() -> Mapping[str, type]:
    """Register the built-in probes."""
    return {
        "adam_sharpness": AdamSharpness,
        "critical_sharpness": CriticalSharpness,
        "heldout": Heldout,
        "sharpness": Sharpness,
        "spectrum": Spectrum,
        "text_health": TextHealth,
        "trace": Trace,
    }

"""Probes: held-out bits per byte of each source, and the health of sampled text."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.probes.heldout import Heldout
from andrea_plugins.probes.text_health import TextHealth


@hookimpl
def andrea_probes() -> Mapping[str, type]:
    """Register the built-in probes."""
    return {"heldout": Heldout, "text_health": TextHealth}

"""Built-in adjustments of a policy's wish before it lands: relative_floors, trust_region."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.adjusts.relative_floors import RelativeFloors
from andrea_plugins.adjusts.trust_region import TrustRegion

__all__ = ["RelativeFloors", "TrustRegion"]


@hookimpl
def andrea_adjusts() -> Mapping[str, type]:
    """Return the adjustments by the names that scenarios use."""
    return {"relative_floors": RelativeFloors, "trust_region": TrustRegion}

"""Built-in curricula: staged, static, competence, reactive."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.curricula.competence import Competence
from andrea_plugins.curricula.reactive import Reactive, ReactiveStage
from andrea_plugins.curricula.rules import Cliff, Plateau, Threshold
from andrea_plugins.curricula.staged import Staged, StageSpec
from andrea_plugins.curricula.static import Static

__all__ = [
    "Cliff",
    "Competence",
    "Plateau",
    "Reactive",
    "ReactiveStage",
    "StageSpec",
    "Staged",
    "Static",
    "Threshold",
]


@hookimpl
def andrea_curricula() -> Mapping[str, type]:
    """Return the curricula by the names that scenarios use."""
    return {"staged": Staged, "static": Static, "competence": Competence, "reactive": Reactive}

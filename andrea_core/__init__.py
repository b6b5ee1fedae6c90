"""The public names of andrea, loaded when first used so that the command line starts fast."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from andrea_core.contracts import (
        Adjust as Adjust,
        ConstraintSet as ConstraintSet,
        Curriculum as Curriculum,
        Observer as Observer,
        Phases as Phases,
        Policy as Policy,
        Probe as Probe,
        Reward as Reward,
        SourceReader as SourceReader,
    )
    from andrea_core.data.cache import (
        cache_folder as cache_folder,
        locked as locked,
        preference as preference,
        temporary_folder as temporary_folder,
        write_file as write_file,
    )
    from andrea_core.data.text import (
        cut_passages as cut_passages,
        decode_text as decode_text,
        hash64 as hash64,
        normalise as normalise,
        paragraphs as paragraphs,
        read_lines as read_lines,
        read_parts as read_parts,
        text_key as text_key,
        unwrap as unwrap,
    )
    from andrea_core.errors import (
        AndreaError as AndreaError,
        CorpusError as CorpusError,
        InfeasibleRegion as InfeasibleRegion,
        PluginError as PluginError,
        RunError as RunError,
        ScenarioError as ScenarioError,
    )
    from andrea_core.fields import (
        factors_by_source as factors_by_source,
        file_patterns as file_patterns,
        fraction as fraction,
        number as number,
        numbers_by_source as numbers_by_source,
        one_of as one_of,
        positive as positive,
        source_names as source_names,
        span as span,
        weights_by_source as weights_by_source,
    )
    from andrea_core.hookspecs import hookimpl as hookimpl
    from andrea_core.landscape.budget import Budget as Budget, worst as worst
    from andrea_core.landscape.critical import crossing as crossing
    from andrea_core.landscape.hessian import Hessian as Hessian, Operator as Operator
    from andrea_core.landscape.lanczos import (
        Eigenpairs as Eigenpairs,
        extreme_eigenpairs as extreme_eigenpairs,
        standard_normal as standard_normal,
    )
    from andrea_core.landscape.objective import Objective as Objective, block_of as block_of
    from andrea_core.landscape.spectrum import lanczos_quadrature as lanczos_quadrature
    from andrea_core.landscape.trace import (
        Estimate as Estimate,
        block_rows as block_rows,
        hutch_plus_plus as hutch_plus_plus,
        hutchinson as hutchinson,
    )
    from andrea_core.model.heads import Heads as Heads
    from andrea_core.model.pace import StageOptimizer as StageOptimizer
    from andrea_core.model.trained import Trained as Trained
    from andrea_core.model.view import ModelView as ModelView
    from andrea_core.runs.store import open_run as open_run
    from andrea_core.simplex import Group as Group, Region as Region, Row as Row, total_variation as total_variation
    from andrea_core.simplex.retiring import retire as retire
    from andrea_core.tables import by_source as by_source, check_sources as check_sources
    from andrea_core.timetable import Timetable as Timetable
    from andrea_core.traits import PolicyTraits as PolicyTraits, RewardTraits as RewardTraits
    from andrea_core.values import (
        Context as Context,
        Document as Document,
        Findings as Findings,
        Gradients as Gradients,
        Integers as Integers,
        Ledger as Ledger,
        Mask as Mask,
        Measurement as Measurement,
        Moment as Moment,
        Observation as Observation,
        Outcome as Outcome,
        Proposal as Proposal,
        Scores as Scores,
        Sources as Sources,
        Stage as Stage,
        Vector as Vector,
    )

__version__ = "0.1.0"

_HOMES = {
    "andrea_core.contracts": ("Adjust ConstraintSet Curriculum Observer Phases Policy Probe Reward SourceReader"),
    "andrea_core.data.cache": "cache_folder locked preference temporary_folder write_file",
    "andrea_core.data.text": (
        "cut_passages decode_text hash64 normalise paragraphs read_lines read_parts text_key unwrap"
    ),
    "andrea_core.errors": "AndreaError CorpusError InfeasibleRegion PluginError RunError ScenarioError",
    "andrea_core.fields": (
        "factors_by_source file_patterns fraction number numbers_by_source one_of positive source_names span "
        "weights_by_source"
    ),
    "andrea_core.hookspecs": "hookimpl",
    "andrea_core.model.pace": "StageOptimizer",
    "andrea_core.landscape.budget": "Budget worst",
    "andrea_core.landscape.critical": "crossing",
    "andrea_core.landscape.hessian": "Hessian Operator",
    "andrea_core.landscape.lanczos": "Eigenpairs extreme_eigenpairs standard_normal",
    "andrea_core.landscape.objective": "Objective block_of",
    "andrea_core.landscape.spectrum": "lanczos_quadrature",
    "andrea_core.landscape.trace": "Estimate block_rows hutch_plus_plus hutchinson",
    "andrea_core.model.heads": "Heads",
    "andrea_core.model.trained": "Trained",
    "andrea_core.model.view": "ModelView",
    "andrea_core.runs.store": "open_run",
    "andrea_core.simplex": "Group Region Row total_variation",
    "andrea_core.simplex.retiring": "retire",
    "andrea_core.values": (
        "Context Document Findings Gradients Integers Ledger Mask Measurement Moment Observation Outcome Proposal "
        "Scores Sources Stage Vector"
    ),
    "andrea_core.timetable": "Timetable",
    "andrea_core.tables": "by_source check_sources",
    "andrea_core.traits": "PolicyTraits RewardTraits",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'andrea_core' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""Tells a simulated run from a trained one, and refuses what needs a model."""

import json
from pathlib import Path

from andrea_core.errors import RunError

SIMULATED = "simulated"
"""What `run.json` names as the device of a run without a model."""


def is_simulated(path: Path) -> bool:
    """Return whether a folder's `run.json` says that its run was simulated; a torn one says nothing."""
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(facts, dict) and facts.get("device") == SIMULATED


def refuse_simulated(path: Path, why: str) -> None:
    """Raise RunError for a simulated run; `why` says what cannot be done with it."""
    if is_simulated(path):
        raise RunError(
            f"{path} is a simulated run, with no model and no checkpoints: {why}; to train one, "
            "`andrea run` its scenario with another folder as --out"
        )

"""Replay: the phases that a run recorded, shown to a policy once more, offline."""

from andrea_core.runs.replay.director import Replayed, replayed
from andrea_core.runs.replay.recorded import Recorded
from andrea_core.runs.replay.verdict import Difference, Verdict, ulps_between, verdict_of
from andrea_core.runs.replay.walk import Walk

__all__ = ["Difference", "Recorded", "Replayed", "Verdict", "Walk", "replayed", "ulps_between", "verdict_of"]

"""The coherence gate: counts low samples in a row, stops with a reason, and asks for what its settings say."""

import attrs
import numpy as np
import pytest

from andrea_core import Sources
from andrea_plugins.probes.text_health import TextHealth

SOURCES = Sources(("one",), np.array([10]))
GOOD = (
    "We walked along the wall to the place where the old man used to sell fish, but nobody was there and the door was "
    "shut. So we sat on the steps and waited, and after a while we heard the church bell."
)
BAD = "region " * 30


@attrs.define
class View:
    """Returns the given text; remembers what was asked."""

    text: str
    asked: list[tuple[str, int, float, int]] = attrs.field(factory=list)

    def generate(self, prompt: str, tokens: int, temperature: float, top_k: int, rng: np.random.Generator) -> str:
        self.asked.append((prompt, tokens, temperature, top_k))
        return self.text


def run(probe: TextHealth, *texts: str) -> list[str | None]:
    """Measure the texts in turn; return each one's reason to stop."""
    state, reasons = probe.start(SOURCES), []
    for text in texts:
        found, state = probe.measure(state, View(text), np.random.default_rng(0))  # type: ignore[arg-type]
        reasons.append(str(found["stop"].value) if "stop" in found else None)
    return reasons


def test_a_sample_is_reported_with_its_score_and_parts() -> None:
    found, state = TextHealth().measure(0, View(GOOD), np.random.default_rng(0))  # type: ignore[arg-type]
    parts = [found[name].value for name in ("bigrams", "trigrams", "english", "characters")]

    assert found["text"].value == GOOD
    assert found["score"].value == pytest.approx(sum(parts))
    assert "stop" not in found
    assert state == 0


def test_patience_is_spent_only_by_low_samples_in_a_row() -> None:
    reasons = run(TextHealth(patience=3), BAD, BAD, GOOD, BAD, BAD, BAD, BAD)

    assert [reason is not None for reason in reasons] == [False] * 5 + [True] * 2
    assert reasons[5] == "3 samples in a row scored below 30 (this one 5.5): the text is broken"


def test_no_patience_never_stops() -> None:
    assert run(TextHealth(patience=0), *[BAD] * 9) == [None] * 9


def test_the_floor_decides_what_is_low() -> None:
    assert run(TextHealth(patience=1, floor=5), BAD) == [None]
    assert run(TextHealth(patience=1, floor=6), BAD) != [None]


def test_the_sample_is_asked_for_as_set() -> None:
    view = View(GOOD)
    TextHealth(tokens=50, prompt="Once", temperature=0.5, top_k=7).measure(0, view, np.random.default_rng(0))  # type: ignore[arg-type]

    assert view.asked == [("Once", 50, 0.5, 7)]


def test_results_stand_in_the_samples_group() -> None:
    assert TextHealth.group == "samples"

"""The held-out probe: one number a source, the right one, or none."""

import subprocess
import sys

import attrs
import numpy as np
import pytest

from andrea_core import Sources
from andrea_plugins.probes import andrea_probes
from andrea_plugins.probes.heldout import Heldout

SOURCES = Sources(("one", "two", "bare"), np.array([10, 20, 30]))


@attrs.define
class View:
    """Held-out text whose loss is known: windows full of the source's index; remembers what was asked."""

    sources: tuple[str, ...] = SOURCES.names
    asked: list[tuple[int, int]] = attrs.field(factory=list)

    def heldout(self, source_index: int, max_tokens: int) -> np.ndarray:
        self.asked.append((source_index, max_tokens))
        return np.full((0 if source_index == 2 else 1, 5), source_index)

    def bits_and_error(self, windows: np.ndarray) -> tuple[float, float]:
        return (2.5 + windows[0, 0], 0.1) if len(windows) else (float("nan"), float("nan"))


def test_each_source_gets_its_bits_per_byte_and_a_bare_one_none() -> None:
    probe, view = Heldout(tokens=64), View()
    found, state = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))  # type: ignore[arg-type]

    np.testing.assert_array_equal(found["bits_per_byte"].value, [2.5, 3.5, np.nan])
    np.testing.assert_array_equal(found["bits_per_byte_error"].value, [0.1, 0.1, np.nan])
    assert found["bits_per_byte"].status == found["bits_per_byte_error"].status == "missing"
    assert state is None
    assert view.asked == [(0, 64), (1, 64), (2, 64)]


def test_a_measurement_of_all_sources_is_sound() -> None:
    found, _ = Heldout().measure(None, View(sources=("one", "two")), np.random.default_rng(0))  # type: ignore[arg-type]

    assert list(found) == ["bits_per_byte", "bits_per_byte_error"]
    assert {one.status for one in found.values()} == {"ok"}


def test_results_stand_in_the_eval_group() -> None:
    assert Heldout.group == "eval"


def test_fewer_than_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Heldout(tokens=0)


def test_probes_are_registered_by_name() -> None:
    assert {"heldout", "text_health", "attention", "path"} < set(andrea_probes())
    assert all(probe.__name__.lower() == name.replace("_", "") for name, probe in andrea_probes().items())


def test_the_probes_load_without_torch() -> None:
    code = "import sys, andrea_plugins.probes; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

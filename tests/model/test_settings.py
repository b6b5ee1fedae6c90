"""Model and optimiser settings: presets, overrides, refusals."""

import subprocess
import sys

import pytest

from andrea_core.model.settings import PRESETS, ModelSettings, ModelShape, OptimizerSettings


def test_a_preset_resolves_to_its_shape() -> None:
    assert ModelSettings(preset="andrea-120m").resolve() == ModelShape(layers=12, heads=12, width=768, context=1024)


def test_explicit_sizes_override_the_preset_and_leave_the_rest() -> None:
    shape = ModelSettings(preset="laptop", layers=2, context=64, dropout=0.1).resolve()

    assert shape == ModelShape(layers=2, heads=4, width=128, context=64, dropout=0.1)


def test_sizes_alone_make_a_shape() -> None:
    shape = ModelSettings(layers=1, heads=2, width=8, context=16).resolve()

    assert shape == ModelShape(layers=1, heads=2, width=8, context=16, dropout=0.0)


def test_missing_sizes_are_all_named() -> None:
    with pytest.raises(ValueError, match="without a preset the model also needs heads, context"):
        ModelSettings(layers=1, width=8).resolve()


def test_an_unknown_preset_is_answered_with_the_nearest_spelling() -> None:
    with pytest.raises(ValueError, match=r"unknown model preset 'andrea-12'; did you mean 'andrea-12m'\?"):
        ModelSettings(preset="andrea-12").resolve()


def test_an_unlike_preset_is_answered_with_all_known_ones() -> None:
    known = "unknown model preset 'zzz'; there is andrea-120m, andrea-12m, laptop, tiny"
    with pytest.raises(ValueError, match=known):
        ModelSettings(preset="zzz").resolve()


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="width 128 is not divisible by heads 3"):
        ModelSettings(preset="laptop", heads=3).resolve()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_resolves(name: str) -> None:
    assert ModelSettings(preset=name).resolve() == PRESETS[name]


@pytest.mark.parametrize(
    ("field", "value"),
    [("lr", 0.0), ("warmup", -1), ("schedule", "linear"), ("final", 1.5), ("weight_decay", -0.1), ("clip", -1.0)],
)
def test_optimiser_settings_out_of_range_are_refused(field: str, value: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        OptimizerSettings(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["layers", "heads", "width", "context"])
def test_sizes_below_one_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        ModelSettings(preset="tiny", **{field: 0})


def test_settings_and_schedule_load_without_torch() -> None:
    code = "import sys, andrea_core.model.settings, andrea_core.model.schedule; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

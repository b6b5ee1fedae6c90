"""The page's head says what was run: seed, size of the model, tokens, and what the held-out numbers are."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from andrea_core.model.gpt import GPT
from andrea_core.model.settings import ModelSettings
from andrea_core.report.facts import parameters_of, run_facts, seed_of
from andrea_core.report.header import header
from andrea_core.runs.store import Run, open_run

SCENARIO = 'name = "x"\nseed = 17\n\n[model]\npreset = "tiny"\nlayers = 3\n'
MERGES = [["a", "b"], ["ab", "c"], ["d", "e"]]


def with_model(tmp_path: Path, synthetic: ModuleType, tokenizer: str, scenario: str = SCENARIO) -> Run:
    synthetic.write_run(tmp_path / "run", sources=["a", "b"], steps=100)
    (tmp_path / "run" / "scenario.toml").write_text(scenario, encoding="utf-8")
    (tmp_path / "run" / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    return open_run(tmp_path / "run")


@pytest.mark.parametrize(("use", "vocabulary"), [("bytes", 257), ("bpe", 260)])
def test_the_number_of_parameters_is_the_models(
    use: str, vocabulary: int, tmp_path: Path, synthetic: ModuleType
) -> None:
    run = with_model(tmp_path, synthetic, json.dumps({"use": use, "merges": MERGES}))
    model = GPT(ModelSettings(preset="tiny", layers=3).resolve(), vocabulary)
    total = model.parameter_count()
    assert parameters_of(run) == (total, total - model.parameter_count(norms=False))
    assert f"parameters <b>{total:,} (" in header(run)


def test_the_head_names_seed_and_tokens(tmp_path: Path, synthetic: ModuleType) -> None:
    run = with_model(tmp_path, synthetic, '{"use": "bytes"}')
    text = header(run)
    assert "seed <b>17</b>" in text
    assert f"tokens trained <b>{run.steps['tokens'].sum():,}</b>" in text
    assert [name for name, _ in run_facts(run)][:3] == ["seed", "parameters", "tokens trained"]


@pytest.mark.parametrize(
    ("tokenizer", "scenario"),
    [
        ("{", SCENARIO),
        ('{"use": "bytes"}', "[model"),
        ('{"use": "bytes"}', 'seed = "x"\n[model]\npreset = "huge"\n'),
        ('{"use": "bytes"}', "[model]\nlayers = -1\n"),
        ('{"use": "bytes"}', "model = 3\n"),
    ],
)
def test_what_cannot_be_read_is_left_out(tokenizer: str, scenario: str, tmp_path: Path, synthetic: ModuleType) -> None:
    run = with_model(tmp_path, synthetic, tokenizer, scenario)
    assert parameters_of(run) is None
    assert "parameters" not in header(run)
    assert seed_of(run) == (17 if scenario == SCENARIO else None)


def test_the_tile_of_held_out_loss_says_from_where_to_where(run_of: Callable[[str], Run]) -> None:
    assert "<span>bits per byte, start → end</span>" in header(run_of("full"))
    assert "<span>bits per byte, start → step 240</span>" in header(run_of("killed"))
    assert "<span>bits per byte</span><b>-</b>" in header(run_of("empty"))


def test_one_measurement_is_no_way_from_somewhere_to_somewhere(tmp_path: Path, synthetic: ModuleType) -> None:
    store = synthetic.empty_run(tmp_path / "run", ["a"])
    synthetic.put(store.create_group("eval"), {"step": np.array([0]), "bits_per_byte": np.array([[8.0]])})
    assert "<span>bits per byte, start</span><b>8.00</b>" in header(open_run(tmp_path / "run"))

"""Synthetic runs of every shape, and their pages, written once for all tests of reading and reporting."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from andrea_core.report.page import page
from andrea_core.runs.store import Run, open_run

SHAPES = ["full", "killed", "between", "empty", "one", "two", "forty"]


def load_synthetic() -> ModuleType:
    spec = importlib.util.spec_from_file_location("synthetic_runs", Path(__file__).with_name("synthetic.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    return load_synthetic()


@pytest.fixture(scope="session")
def folder_of(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("runs")
    shapes: dict[str, dict[str, object]] = {
        "full": {"steps": 600},
        "killed": {"steps": 600, "until": 250},
        "between": {"steps": 600, "until": 5},
        "one": {"sources": ["only"], "steps": 200},
        "two": {"sources": ["a", "b"], "steps": 200},
        "forty": {"sources": [f"source-{k:02d}" for k in range(40)], "steps": 300},
    }

    def folder(shape: str) -> Path:
        path: Path = root / f"v3_polish-{shape}"
        if not path.exists():
            if shape == "empty":
                synthetic.empty_run(path, synthetic.SIXTEEN)
            else:
                synthetic.write_run(path, **shapes[shape])
        return path

    return folder


@pytest.fixture(scope="session")
def run_of(folder_of: Callable[[str], Path]) -> Callable[[str], Run]:
    return lambda shape: open_run(folder_of(shape))


@pytest.fixture(scope="session")
def page_of(run_of: Callable[[str], Run]) -> Callable[[str], str]:
    pages: dict[str, str] = {}

    def text(shape: str) -> str:
        if shape not in pages:
            pages[shape] = page(run_of(shape))
        return pages[shape]

    return text


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)

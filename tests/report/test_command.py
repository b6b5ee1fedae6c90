"""`andrea report` names the page it wrote, and imports nothing heavy until it runs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from andrea_core import RunError
from andrea_core.cli.report import report


def test_the_command_prints_the_page_it_wrote(folder_of: Callable[[str], Path]) -> None:
    folder = folder_of("one")
    result = CliRunner().invoke(report, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert Path(result.output.strip()) == folder / "report.html"
    assert (folder / "report.html").is_file()


def test_open_shows_the_page_in_the_browser(folder_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(click, "launch", lambda url: shown.append(url))
    folder = folder_of("empty")
    CliRunner().invoke(report, [str(folder), "--open"], catch_exceptions=False)
    assert shown == [(folder / "report.html").resolve().as_uri()]


def test_a_path_that_is_no_run_raises_the_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Name the folder that `andrea run` printed"):
        CliRunner().invoke(report, [str(tmp_path / "nowhere")], catch_exceptions=False)


def test_importing_the_command_imports_neither_numpy_nor_plotly_nor_torch() -> None:
    heavy = "{'numpy', 'plotly', 'pandas', 'zarr', 'torch', 'rich'} & set(sys.modules)"
    code = f"import sys, andrea_core.cli.report; print({heavy} or 'light')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "light"

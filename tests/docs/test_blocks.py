"""Every block of README and docs is executed, or names the test that covers it, or says why it is not run."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import pytest

ROOT = Path(os.environ.get("ANDREA_EXAMPLES", Path(__file__).parents[2]))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"(?:<!-- ([a-z-]+): ?(.*?) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"# file: (\S+)\n")
QUIET = {"text", "mermaid"}


@attrs.frozen
class Block:
    marker: str | None
    note: str | None
    language: str
    code: str
    line: int


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [Block(*found.groups(), text[: found.start()].count("\n") + 1) for found in FENCE.finditer(text)]


def run_console(block, folder):
    """Run each `$` command, and return the shown lines that its output lacks, `...` standing for anything."""
    lacking = []
    for part in re.split(r"^\$ ", block.code, flags=re.M)[1:]:
        lines = part.replace("\\\n", " ").splitlines()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            lines[0],
            shell=True,
            cwd=folder,
            text=True,
            capture_output=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        assert done.returncode == 0, f"$ {lines[0]}\n{done.stdout}{done.stderr}"
        said = done.stdout + done.stderr
        lacking += [(line, said) for line in lines[1:] if line != "..." and line.strip() not in said]
    return lacking


def run_block(block, folder, names, page):
    """Do what a block says; return what it shows and what does not appear."""
    named = FILE.match(block.code)
    if named:
        (folder / named[1]).write_text(block.code[named.end() :], encoding="utf-8")
    elif block.language == "python":
        exec(compile(block.code, f"{page.name}:{block.line}", "exec"), names)
    elif block.language == "console":
        return run_console(block, folder)
    if block.language == "toml":
        tomllib.loads(block.code)
    return []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    names = {"__name__": "__page__"}
    for block in blocks(page):
        if block.marker not in ("tested-by", "not-run", "command") and block.language not in QUIET:
            assert run_block(block, tmp_path, names, page) == [], f"{page.name}:{block.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_that_are_not_run_name_a_test_that_exists_or_a_reason(page):
    for block in blocks(page):
        assert block.language, f"{page.name}:{block.line}: a block without a language"
        if block.marker == "tested-by":
            file, _, name = block.note.partition("::")
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, block.note
        if block.marker == "not-run":
            assert len(block.note) > 10, f"{page.name}:{block.line}: say why the block is not run"

"""The README's file tree gives every module one line, equal to the first line of its docstring."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"^(?P<indent> *)(?P<name>[\w.-]+(?:/)?) {2,}(?P<text>.+)$")


def tree():
    """{path of a module: its line} as the README shows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- tree -->\n```text\n(.*?)```", text, re.S)[1]
    found, folders = {}, []
    for line in block.splitlines():
        match = LINE.match(line) or re.match(r"^(?P<indent> *)(?P<name>[\w-]+/)$", line)
        assert match, line
        depth = len(match["indent"]) // 2
        folders[depth:] = [match["name"].rstrip("/")]
        if match["name"].endswith(".py"):
            found["/".join(folders)] = match["text"]
    return found


def modules():
    """{path: first line of the docstring} of every module."""
    paths = [path for room in ("andrea_core", "plugins") for path in sorted((ROOT / room).rglob("*.py"))]
    docs = {
        path.relative_to(ROOT).as_posix(): ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        for path in paths
    }
    assert all(docs.values()), [path for path, text in docs.items() if not text]
    return {path: text.partition("\n")[0] for path, text in docs.items()}


def test_the_tree_has_every_module_with_its_own_line():
    assert tree() == modules()


@pytest.mark.parametrize("path", sorted(modules()))
def test_no_file_is_longer_than_it_should_be(path):
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 300

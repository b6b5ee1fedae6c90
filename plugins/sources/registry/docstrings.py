"""Reads docstrings with the signatures they belong to, from source text; nothing is imported."""

import ast
import textwrap
import warnings
from collections.abc import Iterable, Iterator

from andrea_core import decode_text, paragraphs
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, passages
from andrea_plugins.sources.registry.recipe import Entry

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_MIN_CHARS = 80


def docstrings(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield docstrings of 80 characters or more under their `def` or `class` lines (a module's under `# path`)."""
    for member in members:
        source = decode_text(member.data)
        tree = _parsed(source)
        if tree is not None:
            lines = source.split("\n")
            for node in _documented(tree):
                yield from _piece(entry, member.path, lines, node)


def _documented(node: ast.AST) -> Iterator[Documented]:
    """Yield the nodes that can have a docstring, in the order of the file; expressions are not looked into."""
    if isinstance(node, Documented):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _documented(child)


def _parsed(source: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in other people's code are none of the user's business
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None


def _piece(entry: Entry, path: str, lines: list[str], node: Documented) -> Iterator[Piece]:
    text = ast.get_docstring(node)
    if text and len(text) >= _MIN_CHARS:
        body = textwrap.indent(text, "    ")
        yield from passages(entry, path, paragraphs(f"{_header(path, lines, node)}\n{body}"))


def _header(path: str, lines: list[str], node: Documented) -> str:
    if isinstance(node, ast.Module):
        return f"# {path}"
    return "\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1])

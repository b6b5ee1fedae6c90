"""Formats of source trees: manuals, change logs, release notes, scripted chats, command examples, docstrings."""

from typing import Any

from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.formats import FORMATS
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry, load_recipe


def _read(format_: str, text: str, path: str = "pkg/a.txt", options: dict[str, Any] | None = None) -> list[Piece]:
    entry = Entry(format_, "MIT", archive="box", options=options or {})
    return list(FORMATS[format_](entry, [Member(path, text.encode())]))


def test_manuals_lose_their_meta_blocks_only() -> None:
    pieces = _read("rst", ".. meta::\n   :keywords: a\n\nTitle\n=====\n\n.. note::\n\n   Keep me.\n", "doc/a.rst")
    assert pieces == [Piece("doc/a.rst", "Title\n=====\n\n.. note::\n\n   Keep me.")]


def test_change_logs_keep_long_new_subjects_and_unescape_them() -> None:
    twice = "* Fix node\\_id in the\n  long run\n"
    text = f"CHANGES\n=======\n\n1.0\n---\n\n{twice}* short\n* Merge the branches\n{twice}"
    text += "* Another good subject\n* A third good subject\n"
    options = {"skip": "(?i)merge ", "subjects_per_doc": 2}
    pieces = _read("pbr-changelog", text, "p-1/ChangeLog", options)
    assert [piece.text for piece in pieces] == [
        "Fix node_id in the long run\nAnother good subject",
        "A third good subject",
    ]
    assert [piece.group for piece in pieces] == ["p-1/ChangeLog#0", "p-1/ChangeLog#1"]


NOTES = """\
---
# a comment
prelude: >
    Folded
    line.

    Second.
features:
  - |
    Literal ``x: y``
      deeper

    end
  - plain text that
    goes on  # comment
fixes:
- "quoted \\"one\\"\\n two"
- 'it''s
  folded'
upgrade: |
  Direct.
other:
    bare scalar
    below
"""


def test_release_notes_read_all_four_kinds_of_scalars() -> None:
    text = "\n\n".join(piece.text for piece in _read("reno-yaml", NOTES, "notes/a.yaml"))
    assert text.split("\n\n") == [
        "prelude: Folded line.\nSecond.",
        "features: Literal ``x: y``\n  deeper",
        "end",
        "features: plain text that goes on",
        'fixes: quoted "one"\n two',
        "fixes: it's folded",
        "upgrade: Direct.",
        "other: bare scalar below",
    ]


def test_scripted_chats_alternate_between_the_roles() -> None:
    text = (
        "categories:\n- x\nconversations:\n- - 'Hi: you'\n  - Hello\n  - |\n    def f():\n        pass\n"
        '- - Second\n  - "1"\n'
    )
    pieces = _read("pairs-yaml", text)
    assert [piece.text for piece in pieces] == [
        "User: Hi: you\nAssistant: Hello\nUser: def f():\n    pass",
        "User: Second\nAssistant: 1",
    ]
    assert [piece.group for piece in pieces] == ["hi you", "second"]


def test_command_examples_become_sessions() -> None:
    text = (
        "**Example 1: To list things**\n\nThe following ``list``\nexample lists. ::\n\n"
        "    aws list \\\n        --all\n\n"
        "Output::\n\n    a\n\n    b\n\nFor more information, see the guide.\n\n.. _x: y\n\n"
        "**To do nothing**\n\nProse only.\n\n**To write**\n\nCommand::\n\n  aws write\n\nThis prints nothing.\n"
    )
    pieces = _read("cli-example-rst", text, "ex/a.rst", {"max_output_chars": 100})
    assert [piece.text for piece in pieces] == [
        "User: To list things\nAssistant: The following ``list`` example lists.\n"
        "$ aws list \\\n    --all\nTool: a\n\nb",
        "User: To write\nAssistant: \n$ aws write\nThis prints nothing.",
    ]


def test_outputs_are_cut() -> None:
    text = "**To list**\n\nSo. ::\n\n    aws list\n\nOutput::\n\n    0123456789\n"
    assert _read("cli-example-rst", text, options={"max_output_chars": 4})[0].text.endswith("\nTool: 0123")


def test_docstrings_stand_under_their_signatures() -> None:
    long = ("Explain at length " * 6).strip()
    source = (
        f'"""{long}"""\n\nclass A(object):\n    """Short."""\n\n    @property\n    def f(self,\n          x):\n'
        f'        """{long}\n\n        :param x: it\n        """\n        return 1\n'
    )
    pieces = _read("py-docstrings", source, "pkg/a.py")
    assert pieces == [
        Piece("pkg/a.py", f"# pkg/a.py\n    {long}"),
        Piece("pkg/a.py", f"    def f(self,\n          x):\n    {long}\n\n    :param x: it"),
    ]


def test_source_that_does_not_parse_is_passed_over() -> None:
    assert _read("py-docstrings", "def f(:\n", "pkg/a.py") == []


def test_every_format_of_the_bundled_recipe_exists() -> None:
    used = {entry.format for source in load_recipe().sources.values() for entry in source.entries}
    assert used <= FORMATS.keys()

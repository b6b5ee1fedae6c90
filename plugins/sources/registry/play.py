"""Reads plays in Markdown: speeches become `NAME: lines`, directions stand in square brackets."""

import re
from collections.abc import Iterable, Iterator

import attrs

from andrea_core import decode_text, paragraphs
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece, passages
from andrea_plugins.sources.registry.recipe import Entry

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPEAKER = re.compile(r"\*\*(.+?)\*\*\s*")
_DIRECTION = re.compile(r"_([^_]+)_")


@attrs.define
class _Place:
    title: str = ""
    act: str = ""
    scene: str = ""

    def turn(self, heading: str) -> None:
        """Move to the place that a Markdown heading opens."""
        mark, _, text = heading.partition(" ")
        if mark == "#":
            self.title, self.act, self.scene = text.strip(), "", ""
        elif mark == "##":
            self.act, self.scene = re.sub(r"^ACT\b", "Act", text.strip()), ""
        else:
            self.scene = text.strip()

    @property
    def line(self) -> str:
        """`Title, Act, Scene`, without the parts that are missing."""
        return ", ".join(part for part in (self.title, self.act, self.scene) if part)


def scenes(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield passages of one scene, each under its `Title, Act, Scene`."""
    for member in members:
        place = _Place()
        parts: list[str] = []
        for block in [*paragraphs(decode_text(member.data)), "#"]:
            if block.startswith("#"):
                group = f"{member.name}:{place.act}:{place.scene}"
                yield from passages(entry, group, parts, "\n", place.line)
                parts = []
                place.turn(_plain(block))
            else:
                parts.append(_speech(block))


def _speech(block: str) -> str:
    lines = [line.rstrip() for line in block.split("\n")]
    speaker = _SPEAKER.fullmatch(lines[0])
    text = "\n".join(lines[1:] if speaker else lines)
    text = _plain(_DIRECTION.sub(r"[\1]", text))
    return f"{_plain(speaker[1])}: {text}" if speaker else text


def _plain(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)

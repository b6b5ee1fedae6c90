"""Reads conversations of turns and renders them as letters, as a titled dialogue, or as channel lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from andrea_core import cut_passages, hash64, unwrap
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry

Turn = list[Mapping[str, Any]]


def conversations(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield the conversations of the entry's buckets, one line a turn or message, packed into passages."""
    render = _RENDER[entry.options["render"]]
    buckets = set(entry.options["buckets"])
    for member in members:
        for name, talk in json.loads(member.data).items():
            if hash64(entry.archive, name) % 10 in buckets:
                turns = [turn for turn in map(_filled, talk["messages"]) if turn]
                senders = list(dict.fromkeys(message["sender"] for turn in turns for message in turn))
                if len(turns) >= entry.options["min_turns"] and len(senders) >= 2:
                    lines = render(turns, senders, talk.get("prompt"))
                    yield from (Piece(name, text) for text in cut_passages(lines, entry.passage_chars, "\n"))


def _filled(turn: Turn) -> Turn:
    return [message for message in turn if message["text"].strip()]


def _line(turn: Turn) -> str:
    return " ".join(unwrap(message["text"]) for message in turn)


def _letters(turns: list[Turn], senders: list[str], _prompt: str | None) -> Iterator[str]:
    for turn in turns:
        yield f"{chr(ord('A') + senders.index(turn[0]['sender']))}: {_line(turn)}"


def _topic(turns: list[Turn], senders: list[str], prompt: str | None) -> Iterator[str]:
    if prompt and prompt.strip():
        yield f"Topic: {unwrap(prompt)}"
    for turn in turns:
        yield f"{'User' if turn[0]['sender'] == senders[0] else 'Assistant'}: {_line(turn)}"


def _channel(turns: list[Turn], _senders: list[str], _prompt: str | None) -> Iterator[str]:
    for message in (message for turn in turns for message in turn):
        clock = message["timestamp"][11:16]
        yield f"[{clock}] <nick{hash64(message['sender']) % 97:02d}> {unwrap(message['text'])}"


_RENDER = {"letters": _letters, "topic": _topic, "irc": _channel}

"""Reads country files: questions about a country with their answers, long ones and one-line facts."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from andrea_core import decode_text, hash64
from andrea_plugins.sources.registry.archives import Member
from andrea_plugins.sources.registry.pieces import Piece
from andrea_plugins.sources.registry.recipe import Entry

_LINE_TAG = re.compile(r"<br\s*/?>|</(?:p|li|div)>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]+>")
_NOTE = re.compile(r"^note:\s*", re.IGNORECASE)
_NAME_END = re.compile(r"[\n;(]")
_NAMES = tuple(f"Government > Country name > conventional {form} form" for form in ("short", "long"))


@attrs.frozen
class _Country:
    code: str
    name: str
    facts: Mapping[str, Any]


def dialogues(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield several questions about one country with their answers to a document, `turns_per_doc` of them."""
    seen: set[str] = set()
    for country in _countries(members):
        pairs = list(_long_answers(entry, country, seen))
        pairs.sort(key=lambda pair: hash64(country.code, pair[0]))
        yield from _grouped(country, pairs, entry.options["turns_per_doc"])


def facts(entry: Entry, members: Iterable[Member]) -> Iterator[Piece]:
    """Yield one-line facts, `per_group` of each country."""
    for country in _countries(members):
        topics = sorted(entry.options["topics"], key=lambda topic: hash64(country.code, topic[0]))
        answers = ((topic, _answer(country.facts, topic[0])) for topic in topics)
        short = [pair for pair in answers if _is_fact(pair[1], entry.options["max_answer_chars"])]
        pairs = [(_question(country, topic), answer) for topic, answer in short[: entry.options["per_group"]]]
        yield from _grouped(country, pairs, 1)


def _is_fact(answer: str, limit: int) -> bool:
    return 0 < len(answer) <= limit and "\n" not in answer


def _long_answers(entry: Entry, country: _Country, seen: set[str]) -> Iterator[tuple[str, str]]:
    for topic in entry.options["topics"]:
        answer = _cut(_answer(country.facts, topic[0]), entry.options["max_answer_chars"])
        if len(answer) >= entry.options["min_answer_chars"] and answer not in seen:
            seen.add(answer)
            yield _question(country, topic), answer


def _grouped(country: _Country, pairs: Sequence[tuple[str, str]], count: int) -> Iterator[Piece]:
    for start in range(0, len(pairs), count):
        lines = (f"User: {question}\nAssistant: {answer}" for question, answer in pairs[start : start + count])
        yield Piece(country.code, "\n".join(lines))


def _question(country: _Country, topic: Sequence[str]) -> str:
    variants = topic[1:]
    return variants[hash64(country.code, topic[0]) % len(variants)].replace("{c}", country.name)


def _countries(members: Iterable[Member]) -> Iterator[_Country]:
    for member in members:
        facts_ = json.loads(decode_text(member.data))
        for path in _NAMES:
            name = _NAME_END.split(_answer(facts_, path), maxsplit=1)[0].strip()
            if name and name.lower() != "none":
                yield _Country(member.name.removesuffix(".json"), name, facts_)
                break


def _answer(facts_: Mapping[str, Any], path: str) -> str:
    place: Any = facts_
    for key in path.split(" > "):
        place = place.get(key, {}) if isinstance(place, dict) else {}
    text = place.get("text", "") if isinstance(place, dict) else place
    return _plain(text) if isinstance(text, str) else ""


def _plain(text: str) -> str:
    text = html.unescape(_TAG.sub("", _LINE_TAG.sub("\n", text)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return _NOTE.sub("", "\n".join(line for line in lines if line))


def _cut(answer: str, limit: int) -> str:
    if len(answer) <= limit:
        return answer
    end = max(answer.rfind(mark, 0, limit) for mark in (". ", "; ", "\n"))
    return answer[: end + 1].rstrip("; \n") if end > 0 else answer[:limit]

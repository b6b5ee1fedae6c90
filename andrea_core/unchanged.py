"""Whether a run finds what it was started with, its plugins, its text, its tokenizer; else what differs."""

import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from andrea_core.changes import changes, in_words
from andrea_core.errors import RunError
from andrea_core.plugins import Catalogue
from andrea_core.scenario import Loaded

if TYPE_CHECKING:
    from andrea_core.data.corpus import Corpus


def refuse_other_reading(facts: Mapping[str, Any], loaded: Loaded, where: str) -> None:
    """Raise RunError when this andrea reads the stored scenario `where` as another one: its defaults have changed."""
    if facts["digest"] != loaded.digest:
        was = facts.get("scenario")
        found = in_words(changes(tomllib.loads(was), tomllib.loads(loaded.text))) if isinstance(was, str) else ""
        raise RunError(
            f"{where}: this andrea does not read the scenario as the one that started the run"
            f"{f' ({found})' if found else ''}; go on with that version, or start a new run with `andrea run`"
        )


def refuse_other_plugins(facts: Mapping[str, Any], catalogue: Catalogue, where: str) -> None:
    """Raise RunError that names every plugin that is not what it was when the run `where` was started."""
    found = other_plugins(facts, catalogue)
    if found:
        raise RunError(
            f"{'; '.join(found)}; bring back what it was, or go on as a run of its own from a checkpoint at the end of "
            f"a phase: `andrea fork {where}@STEP {where}/scenario.toml`"
        )


def other_plugins(facts: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """Return a sentence, with both digests, for each plugin of a run that has changed since the run was started."""
    now = {plugin.name: plugin.digest for plugin in catalogue.active}
    files = {plugin.digest for plugin in catalogue.active if plugin.origin.endswith(".py")}
    return [
        f"the plugin {was['name']} ({was['origin']}) has changed since the run was started: "
        f"{_short(was['digest'])} -> {_short(now[was['name']]) if was['name'] in now else 'not there'}"
        for was in facts["plugins"]
        if was["digest"] not in files and (was["name"] not in now or now[was["name"]] != was["digest"])
    ]


def refuse_other_text(facts: Mapping[str, Any], corpus: "Corpus") -> None:
    """Raise RunError that names every source whose text, and the tokenizer, that a run was not started with."""
    found = other_text(facts, corpus)
    if found:
        raise RunError(f"{'; '.join(found)}; bring it back, or start a new run with `andrea run`")


def other_text(facts: Mapping[str, Any], corpus: "Corpus") -> list[str]:
    """Return a sentence for each source and the tokenizer that are not those that a run was trained with."""
    was, now = facts["corpus"], {source.name: source.fingerprint for source in corpus.sources}
    found = [
        f"the text of source {name!r} is not what the run was trained on: fingerprint {_short(was[name])} -> "
        f"{_short(now[name])}"
        for name in now
        if name in was and was[name] != now[name]
    ]
    found += [f"the source {name!r} is {which}" for which, name in _apart(was, now)]
    if facts["tokenizer"] != corpus.tokenizer.digest:
        digests = f"{_short(facts['tokenizer'])} -> {_short(corpus.tokenizer.digest)}"
        found.append(f"the tokenizer is not what the run was trained with: {digests}")
    return found


def _apart(was: Iterable[str], now: Iterable[str]) -> list[tuple[str, str]]:
    """Return the sources that only one side has; those of another order when all are there."""
    before, after = list(was), list(now)
    found = [("not there any more", name) for name in before if name not in after]
    found += [("new", name) for name in after if name not in before]
    if not found and before != after:
        found = [
            ("in another place of the order", name) for name, other in zip(before, after, strict=True) if name != other
        ]
    return found


def _short(digest: Any) -> str:
    return str(digest)[:12]

"""The formats by the names that a recipe uses."""

from andrea_plugins.sources.registry import (
    cli_examples,
    docstrings,
    factbook,
    glosses,
    manuals,
    notes,
    novel,
    play,
    sqlite,
    turns,
)
from andrea_plugins.sources.registry.pieces import Format

FORMATS: dict[str, Format] = {
    "sqlite-qa": sqlite.questions,
    "sqlite-verses": sqlite.verses,
    "turns-json": turns.conversations,
    "factbook-json": factbook.dialogues,
    "factbook-facts": factbook.facts,
    "novel": novel.chapters,
    "play-markdown": play.scenes,
    "gloss-lines-gz": glosses.definitions,
    "rst": manuals.restructured,
    "plain-text": manuals.plain,
    "pydoc-topics": manuals.whole,
    "dist-readme": manuals.whole,
    "pbr-changelog": notes.subjects,
    "reno-yaml": notes.release_notes,
    "pairs-yaml": notes.chats,
    "cli-example-rst": cli_examples.sessions,
    "py-docstrings": docstrings.docstrings,
}

"""The `jsonl` source: one JSON object a line, of the user's own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from andrea_core import CorpusError, Document, file_patterns, read_lines
from andrea_plugins.sources.files import files_fingerprint, matching_files, text_field


@attrs.frozen
class Jsonl:
    """Files with one JSON object a line; `field` holds the text, `group` (if named) what belongs together.

    Documents of one group fall on one side of the split. Without `group`, equal texts do. Empty texts are skipped.
    """

    files: tuple[str, ...] = file_patterns()
    field: str = "text"
    group: str | None = None
    licence: str = ""

    def fingerprint(self, name: str) -> str:
        """Return a digest of the files' paths, sizes and times, and of the settings. Raises CorpusError."""
        return files_fingerprint(name, self.files, "jsonl", self.field, self.group, self.licence)

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents in order. Raises CorpusError, with file and line, for what is no JSON or no text."""
        for path in matching_files(name, self.files):
            for number, line in enumerate(read_lines(path), 1):
                if line.strip():
                    row = _parsed(line, path, number)
                    text = text_field(row.get(self.field), f"{path}:{number}", self.field)
                    group = _group(row, self.group, f"{path}:{number}")
                    if text.strip():
                        yield Document(text, group, self.licence, f"{path}:{number}")


def _parsed(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise CorpusError(f"{path}:{number} is no valid JSON: {error}. Mend or remove the line.") from None
    except RecursionError:
        raise CorpusError(f"{path}:{number} nests too deep to be read. Mend or remove the line.") from None
    if not isinstance(row, dict):
        raise CorpusError(f'{path}:{number} is no JSON object. Each line must be one, such as {{"text": "..."}}.')
    return row


def _group(row: dict[str, Any], field: str | None, place: str) -> str:
    if field is None:
        return ""
    if row.get(field) is None:
        raise CorpusError(f"{place}: the field {field!r} is missing. Mend the line, or leave out `group`.")
    return str(row[field])

"""The `huggingface` source: a data set read through the `datasets` library."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import attrs

from andrea_core import CorpusError, Document
from andrea_plugins.sources.files import text_field


@attrs.frozen
class HuggingFace:
    """A data set by its `path`, as `datasets.load_dataset` takes it, streamed.

    `field` holds the text, `group` (if named) what belongs together. Name a `revision`, so that the text stays the
    same: the cache goes by these settings and does not look for newer data. Needs `pip install andrea[hf]`.
    """

    path: str
    name: str | None = None
    split: str = "train"
    field: str = "text"
    group: str | None = None
    revision: str | None = None
    licence: str = ""

    def fingerprint(self, name: str) -> str:
        """Return a digest of the settings."""
        return hashlib.sha256(json.dumps(["huggingface", attrs.astuple(self)]).encode()).hexdigest()

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents, row by row. Raises CorpusError, with data set and row."""
        for number, row in enumerate(self._rows(name), 1):
            place = f"{self.path} [{self.split}], row {number}"
            text = text_field(row.get(self.field), place, self.field)
            group = "" if self.group is None else text_field(_as_text(row.get(self.group)), place, self.group)
            if text.strip():
                yield Document(text, group, self.licence, place)

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        try:
            from datasets import load_dataset
        except ModuleNotFoundError:
            raise CorpusError(
                f"Source {name!r}: `huggingface` needs the library `datasets`. Run `pip install andrea[hf]`."
            ) from None
        try:
            yield from load_dataset(self.path, self.name, split=self.split, revision=self.revision, streaming=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise CorpusError(
                f"Source {name!r}: the data set {self.path!r} cannot be read: {error}. "
                "Check path, name, split and network."
            ) from error


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)

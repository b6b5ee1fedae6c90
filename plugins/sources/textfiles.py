"""The `text` source: plain text files of the user's own."""

import codecs
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import attrs

from andrea_core import Document, cut_passages, file_patterns, one_of, read_lines, read_parts, text_key
from andrea_plugins.sources.files import files_fingerprint, matching_files

_BLOCK = 4  # neighbouring passages that stay on one side of the split


def _known_encoding(_instance: Any, _attribute: "attrs.Attribute[Any]", value: str) -> None:
    try:
        decoder = codecs.getincrementaldecoder(value)()
        is_text = decoder.decode("a".encode(value), final=True) == "a"
    except (LookupError, ValueError, TypeError):  # unknown, no decoder, or a codec that turns bytes into bytes
        is_text = False
    if not is_text:
        raise ValueError(f"encoding must be a text encoding such as 'utf-8', got {value!r}") from None


@attrs.frozen
class Text:
    """Plain text files; `files` are paths or patterns.

    With `cut = "passages"` each file is cut at blank lines into passages of about 2,000 to 3,600 characters, four
    neighbours to a group, so that one long file can be split and packed. With `cut = "none"` a file is a document.
    """

    files: tuple[str, ...] = file_patterns()
    encoding: str = attrs.field(default="utf-8", validator=_known_encoding)
    cut: Literal["passages", "none"] = one_of("passages", "none", default="passages")
    licence: str = ""

    def fingerprint(self, name: str) -> str:
        """Return a digest of the files' paths, sizes and times, and of the settings. Raises CorpusError."""
        return files_fingerprint(name, self.files, "text", self.encoding, self.cut, self.licence)

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents, file by file. Raises CorpusError, with the byte offset, for a file that is not UTF-8."""
        for path in matching_files(name, self.files):
            yield from self._passages(path) if self.cut == "passages" else self._whole(path)

    def _whole(self, path: Path) -> Iterator[Document]:
        text = "\n".join(read_lines(path, self.encoding))
        if text.strip():
            yield Document(text, "", self.licence, str(path))

    def _passages(self, path: Path) -> Iterator[Document]:
        passages = cut_passages(read_parts(path, self.encoding))
        while block := list(islice(passages, _BLOCK)):
            group = text_key("\n\n".join(block))
            yield from (Document(text, group, self.licence, str(path)) for text in block)

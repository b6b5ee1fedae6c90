"""The `parquet` source: a column of Parquet files of the user's own."""

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import attrs

from andrea_core import CorpusError, Document, file_patterns
from andrea_plugins.sources.files import files_fingerprint, matching_files, text_field

_BATCH = 1024


@attrs.frozen
class Parquet:
    """Parquet files; `column` holds the text, `group` (if named) is the column of what belongs together.

    Read in small batches. Empty texts and nulls are skipped. Needs `pip install andrea[parquet]`.
    """

    files: tuple[str, ...] = file_patterns()
    column: str = "text"
    group: str | None = None
    licence: str = ""

    def fingerprint(self, name: str) -> str:
        """Return a digest of the files' paths, sizes and times, and of the settings. Raises CorpusError."""
        return files_fingerprint(name, self.files, "parquet", self.column, self.group, self.licence)

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents, row by row. Raises CorpusError, with file and row, for what is no text."""
        for path in matching_files(name, self.files):
            number = 0
            for texts, groups in _batches(path, self.column, self.group):
                for text, group in zip(texts, groups, strict=False):
                    number += 1
                    place = f"{path}, row {number}"
                    if text is not None and text_field(text, place, self.column).strip():
                        yield Document(text, "" if group is None else str(group), self.licence, place)


def _batches(path: Path, column: str, group: str | None) -> Iterator[tuple[list[Any], Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise CorpusError("The `parquet` source needs pyarrow. Run `pip install andrea[parquet]`.") from None
    try:
        file = parquet.ParquetFile(path)
        columns = [column] if group is None else [column, group]
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            known = ", ".join(file.schema_arrow.names)
            raise CorpusError(f"{path} has no column {missing[0]!r}. It has: {known}.")
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
            table = batch.to_pydict()
            yield table[column], repeat(None) if group is None else table[group]
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{path} cannot be read as Parquet: {error}. Check the file.") from None

"""The second layer of the cache: the tokens of a source in two memory-mapped files, one a side of the split."""

from array import array
from pathlib import Path
from typing import IO

import attrs
import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from andrea_core.data.cache import build_folder, cache_folder, digest
from andrea_core.data.documents import Report, StoredDocuments
from andrea_core.data.tokenizer import Tokenizer

_VERSION = 1
_SIDES = ("train", "heldout")


@attrs.frozen(eq=False)
class Tokens:
    """The documents of one side, one after the other, without separators.

    `tokens` (T,) is memory-mapped; document i is `tokens[offsets[i]:offsets[i + 1]]`, with `offsets` (N + 1,).
    """

    tokens: npt.NDArray[np.uint16]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> npt.NDArray[np.uint16]:
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]


def store_tokens(documents: StoredDocuments, tokenizer: Tokenizer, report: Report) -> tuple[Tokens, Tokens]:
    """Return the training and the held-out tokens of a source, written first if the cache does not have them."""

    def build(folder: Path) -> None:
        report(f"{documents.name}: writing tokens")
        _write(documents, tokenizer, folder)

    folder = build_folder(_folder(documents, tokenizer), build)
    train, heldout = (_load(folder, side) for side in _SIDES)
    return train, heldout


def find_tokens(documents: StoredDocuments, tokenizer: Tokenizer) -> tuple[Tokens, Tokens] | None:
    """Return the training and the held-out tokens of a source if the cache has them; builds nothing."""
    folder = _folder(documents, tokenizer)
    if not folder.is_dir():
        return None
    train, heldout = (_load(folder, side) for side in _SIDES)
    return train, heldout


def _folder(documents: StoredDocuments, tokenizer: Tokenizer) -> Path:
    key = digest(_VERSION, documents.name, documents.digest, tokenizer.digest)
    return cache_folder() / "tokens" / key[:32]


def _load(folder: Path, side: str) -> Tokens:
    return Tokens(np.load(folder / f"{side}.npy", mmap_mode="r"), np.load(folder / f"{side}-offsets.npy"))


def _write(documents: StoredDocuments, tokenizer: Tokenizer, folder: Path) -> None:
    writers = [_Writer((folder / f"{side}.npy").open("wb")) for side in _SIDES]
    try:
        for text, held in zip(documents.texts(), documents.heldout(), strict=True):
            writers[int(held)].add(tokenizer.encode(text))
        for side, writer in zip(_SIDES, writers, strict=True):
            np.save(folder / f"{side}-offsets.npy", writer.finish())
    finally:
        for writer in writers:
            writer.file.close()


@attrs.define(eq=False)
class _Writer:
    """Writes an array of unknown length: its header, which has room to grow, is written again at the end."""

    file: IO[bytes]
    lengths: "array[int]" = attrs.field(factory=lambda: array("q"))
    size: int = 0

    def __attrs_post_init__(self) -> None:
        self.size = self._header(0)

    def add(self, tokens: npt.NDArray[np.uint16]) -> None:
        """Append the tokens of one document."""
        self.file.write(np.ascontiguousarray(tokens, dtype="<u2").tobytes())
        self.lengths.append(len(tokens))

    def finish(self) -> npt.NDArray[np.int64]:
        """Write the final header; return the offsets."""
        offsets = np.concatenate([[0], np.cumsum(np.frombuffer(self.lengths, np.int64))]).astype(np.int64)
        self.file.seek(0)
        if self._header(int(offsets[-1])) != self.size:
            raise RuntimeError("the header of an array file changed its length")
        return offsets

    def _header(self, count: int) -> int:
        npy.write_array_header_1_0(self.file, {"descr": "<u2", "fortran_order": False, "shape": (count,)})
        return self.file.tell()

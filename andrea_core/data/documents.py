"""The first layer of the cache: the documents of a source as JSON lines, and which are held out."""

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.contracts import SourceReader
from andrea_core.data.cache import build_folder, cache_folder, digest
from andrea_core.data.split import FLOOR, PERCENT, group_hash, heldout_mask
from andrea_core.data.text import text_key
from andrea_core.errors import CorpusError
from andrea_core.spelling import shown
from andrea_core.values import Document

Report = Callable[[str], None]
_VERSION = 1
_EVERY = 20_000


@attrs.frozen(eq=False)
class StoredDocuments:
    """The documents of a source in the cache; `digest` is the sha256 of their texts and groups, in order.

    `order0` is the order-0 entropy of the held-out bytes in bits per byte; `licences` are the distinct ones.
    """

    name: str
    folder: Path
    digest: str
    documents: int
    bytes: int
    heldout_documents: int
    heldout_bytes: int
    order0: float
    licences: tuple[str, ...]

    def heldout(self) -> npt.NDArray[np.bool_]:
        """(N,) True for the documents that are held out."""
        return np.asarray(np.load(self.folder / "heldout.npy"))

    def texts(self) -> Iterator[str]:
        """Yield the texts in order."""
        with (self.folder / "documents.jsonl").open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)["text"]

    def training_texts(self) -> Iterator[str]:
        """Yield the texts of the training side in order."""
        return (text for text, held in zip(self.texts(), self.heldout(), strict=True) if not held)


def find_documents(name: str, reader: SourceReader) -> StoredDocuments | None:
    """Return the documents of a source if the cache has them; builds nothing. Raises CorpusError."""
    folder = _folder(name, reader)
    return _load(name, folder) if folder.is_dir() else None


def store_documents(name: str, reader: SourceReader, report: Report) -> StoredDocuments:
    """Return the documents of a source, read and stored first if the cache does not have them.

    Raises:
        CorpusError: the reader's own, or the source has no documents, or too few to part held-out from training text.
    """

    def build(folder: Path) -> None:
        report(f"{name}: reading")
        _write(name, reader.documents(name), folder, report)

    return _load(name, build_folder(_folder(name, reader), build))


def _folder(name: str, reader: SourceReader) -> Path:
    key = digest(_VERSION, PERCENT, FLOOR, name, reader.fingerprint(name))
    return cache_folder() / "documents" / key[:32]


def _load(name: str, folder: Path) -> StoredDocuments:
    table = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    table["licences"] = tuple(table["licences"])
    return StoredDocuments(name=name, folder=folder, **table)


def _write(name: str, documents: Iterator[Document], folder: Path, report: Report) -> None:
    path = folder / "documents.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        hashes, sizes, facts = _write_lines(name, documents, file, report)
    mask = (
        heldout_mask(np.frombuffer(hashes, np.uint64), np.frombuffer(sizes, np.int64)) if sizes else np.zeros(0, bool)
    )
    heldout_bytes = int(np.frombuffer(sizes, np.int64)[mask].sum()) if sizes else 0
    _check(name, mask, heldout_bytes, sum(sizes))
    np.save(folder / "heldout.npy", mask)
    facts |= {"documents": len(sizes), "bytes": sum(sizes), "heldout_documents": int(mask.sum())}
    facts |= {"heldout_bytes": heldout_bytes, "order0": _order0(path, mask)}
    (folder / "manifest.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1), encoding="utf-8")
    report(f"{name}: {len(sizes):,} documents, {sum(sizes):,} bytes")


def _write_lines(
    name: str, documents: Iterator[Document], file: IO[str], report: Report
) -> tuple["array[int]", "array[int]", dict[str, Any]]:
    hashes, sizes = array("Q"), array("q")
    licences: dict[str, None] = {}
    sha = hashlib.sha256()
    for number, document in enumerate(documents, 1):
        data = _encoded(name, number, document.text, "text")
        group = document.group or text_key(document.text)
        _encoded(name, number, group, "group")
        hashes.append(group_hash(name, group))
        sizes.append(len(data))
        sha.update(len(data).to_bytes(8, "big") + data + group.encode() + b"\0")
        licences[document.licence] = None
        file.write(json.dumps({**attrs.asdict(document), "group": group}, ensure_ascii=False) + "\n")
        if number % _EVERY == 0:
            report(f"{name}: {number:,} documents so far")
    return hashes, sizes, {"digest": sha.hexdigest(), "licences": sorted(filter(None, licences))}


def _encoded(name: str, number: int, text: object, field: str) -> bytes:
    if not isinstance(text, str):
        raise CorpusError(f"The {field} of document {number} of source {name!r} is no text: {shown(text)}.")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"Document {number} of source {name!r} cannot be written as UTF-8: a lone surrogate stands at character "
            f"{error.start} of its {field}. Mend or leave out that text."
        ) from None


def _check(name: str, heldout: npt.NDArray[np.bool_], heldout_bytes: int, total_bytes: int) -> None:
    if not len(heldout):
        raise CorpusError(f"Source {name!r} has no documents. Check its files and fields, or remove the source.")
    if not total_bytes:
        raise CorpusError(f"All documents of source {name!r} are empty. Check its files and fields, or remove it.")
    if heldout.all() or heldout_bytes in (0, total_bytes):
        raise CorpusError(
            f"Source {name!r} is too small to hold text out: all of its {len(heldout)} documents fall into one group "
            "or into the held-out part, or all text on one side. Give it more text, or groups that part it (`group`)."
        )


def _order0(path: Path, heldout: npt.NDArray[np.bool_]) -> float:
    counts = np.zeros(256, dtype=np.int64)
    with path.open(encoding="utf-8") as file:
        for line, held in zip(file, heldout, strict=True):
            if held:
                counts += np.bincount(np.frombuffer(json.loads(line)["text"].encode(), np.uint8), minlength=256)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())

"""Chooses the documents of a source under its cap: water-filling over entries, hash order inside an entry."""

from collections.abc import Sequence

from andrea_core import Document, hash64


def water_fill(cap: float, sizes: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Return a quota per entry: the cap by share, where an entry with less text gets all of it and others the rest."""
    quotas = [0.0] * len(sizes)
    open_ = [index for index, size in enumerate(sizes) if size and shares[index] > 0]
    left = float(cap)
    while open_:
        total = sum(shares[index] for index in open_)
        small = [index for index in open_ if sizes[index] <= left * shares[index] / total]
        for index in small or open_:
            quotas[index] = float(sizes[index]) if small else left * shares[index] / total
        if not small:
            break
        left -= sum(sizes[index] for index in small)
        open_ = [index for index in open_ if index not in small]
    return quotas


def choose(source: str, documents: Sequence[Document], quota: float) -> list[Document]:
    """Return the documents of one entry that fit the quota of UTF-8 bytes.

    Groups come in the order of their hash, documents of a group in reading order; the first document that would exceed
    the quota ends the choice, so a larger quota only adds documents.
    """
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(document.group, []).append(document)
    taken: list[Document] = []
    used = 0
    for group in sorted(groups, key=lambda name: hash64("order-v1", source, name)):
        for document in groups[group]:
            used += len(document.text.encode())
            if used > quota:
                return taken
            taken.append(document)
    return taken

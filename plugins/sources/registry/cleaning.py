"""Cleans the documents of a source: colour codes, control characters, blanks, mail addresses, duplicates."""

import hashlib
import re
import unicodedata

from andrea_core import normalise

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRAILING = re.compile(r"[^\S\n]+$", re.MULTILINE)
_GAP = re.compile(r"\n{3,}")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@(?!example)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")


def clean(text: str) -> str:
    """Return a text in NFC, without colour codes, control characters, stray blanks and mail addresses."""
    text = unicodedata.normalize("NFC", _COLOUR.sub("", text))
    odd = {ord(sign): None for sign in set(text) if sign not in "\n\t" and unicodedata.category(sign)[0] == "C"}
    text = text.translate(odd) if odd else text
    text = _GAP.sub("\n\n", _TRAILING.sub("", text)).strip()
    return _EMAIL.sub("<email>", text)


def duplicate_key(text: str) -> bytes:
    """Return the sha256 that two texts share when they differ in case, punctuation and blanks only."""
    return hashlib.sha256(normalise(text).encode()).digest()

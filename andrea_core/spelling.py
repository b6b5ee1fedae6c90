"""Words for error messages: the nearest valid spelling of a word, a value cut short."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

OWN_PLUGIN = "if a plugin file of yours has it, give --plugin FILE, or name the file in the scenario's `plugins`"
"""What may be wrong with any unknown name: a file that was given with --plugin once must be given again."""


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return "; did you mean 'x'?", or the list of what is valid when nothing is near.

    >>> nearest("ucb", ["ucb1", "random"])
    "; did you mean 'ucb1'?"
    >>> nearest("thompson", ["ucb1", "random"])
    '; there is random, ucb1'
    """
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there is {', '.join(names)}" if names else ""


def shown(value: Any, longest: int = 120) -> str:
    """Return a value as Python writes it, cut in the middle when it is long.

    >>> shown("a"), shown([1] * 100, longest=20)
    ("'a'", '[1, 1, 1, ...1, 1, 1]')
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a table nested thousands deep
        return f"a {type(value).__name__} too large to show"
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


def dotted(path: Sequence[str | int]) -> str:
    """Return the keys of a place as TOML joins them: a key that needs quotes has them, an index stays bare.

    >>> dotted(["stages", "[0]", "until"]), dotted(["sources", "a.b", "use"])
    ('stages[0].until', "sources.'a.b'.use")
    """
    parts = [str(part) if re.fullmatch(r"[\w-]+|\[\d+\]", str(part)) else shown(part) for part in path]
    return ".".join(parts).replace(".[", "[")


def first_words(error: BaseException) -> str:
    """Return an error's message up to its first semicolon: what follows is for programmers."""
    return str(error).partition(";")[0]


def counted(count: int, what: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "source"), counted(16, "source")
    ('1 source', '16 sources')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def said(error: BaseException) -> str:
    """Return an error's text on one line; its name for one that has no text, or that fails even at that.

    >>> said(ValueError("two  words"))
    'two words'
    """
    try:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception:
        return type(error).__name__

"""Names the nearest valid spelling of a word, for error messages."""

import difflib
from collections.abc import Iterable


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

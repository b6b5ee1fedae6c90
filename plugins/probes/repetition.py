"""How a text repeats itself: repeated n-grams, loops, and how far it compresses."""

import math
import zlib
from collections.abc import Sequence

LONGEST_PERIOD = 64
COMPRESSED_BYTES = 1024


def sequence_repetition(words: Sequence[str], n: int) -> float:
    """Return seq-rep-n = 1 - |distinct n-grams| / |n-grams|; NaN where there are none.

    Source: Welleck et al. 2019 (arXiv 1908.04319), section 5. distinct-n (Li et al. 2016, arXiv
    1510.03055) is 1 minus it.
    """
    count = len(words) - n + 1
    if count < 1:
        return math.nan
    return 1 - len({tuple(words[start : start + n]) for start in range(count)}) / count


def recent_repetition(words: Sequence[str], window: int) -> float:
    """Return the share of words, the first apart, that stand among the `window` words before them; NaN without any."""
    if len(words) < 2:
        return math.nan
    seen = sum(word in words[max(0, place - window) : place] for place, word in enumerate(words) if place)
    return seen / (len(words) - 1)


def longest_loop(words: Sequence[str]) -> tuple[int, int]:
    """Return length and period, in words, of the longest stretch that says the same 1 to 64 words at least twice over.

    (0, 0) if there is none; of equally long ones that with the shortest period.
    """
    best, best_period = 0, 0
    for period in range(1, min(LONGEST_PERIOD, len(words) // 2) + 1):
        run = 0
        for place in range(period, len(words)):
            run = run + 1 if words[place] == words[place - period] else 0
            if run >= period and run + period > best:
                best, best_period = run + period, period
    return best, best_period


def compression(text: str) -> float:
    """Return compressed over raw size (zlib, level 9) of the first 1,024 UTF-8 bytes; NaN for an empty text.

    A short text compresses worse: compare texts of one length only.
    """
    raw = text.encode("utf-8", "replace")[:COMPRESSED_BYTES]
    return len(zlib.compress(raw, 9)) / len(raw) if raw else math.nan

"""What torchrun says of this process: whether it is one of several, and who says what all of them meet."""

import os
import time

from andrea_core.errors import AndreaError

_MOMENT = 10.0
"""Seconds that a process leaves the first of its machine to say what is wrong: torchrun ends all when one has ended."""


def several() -> bool:
    """Return whether torchrun has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ


def speaks_for_all() -> bool:
    """Return whether this process is to say what every process of its machine meets before they are joined.

    The first of them is; another one waits a moment before it ends, else torchrun would end the first in mid-sentence.
    """
    if not several() or os.environ.get("LOCAL_RANK", "0") == "0":
        return True
    time.sleep(_MOMENT)
    return False


def said_once(error: AndreaError) -> AndreaError:
    """Return an error that every process of a machine meets, told already on all but the one that speaks for them."""
    error.told = not speaks_for_all()
    return error

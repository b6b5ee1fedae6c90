"""Checks names that users give: a scenario's, which becomes a folder's, and those of sources."""

import unicodedata

LONGEST_NAME, LONGEST_NAME_BYTES, LONGEST_SOURCE = 100, 200, 200
_UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, surrogates, line and paragraph separators


def refuse_folder_name(name: str, what: str) -> None:
    """Raise ValueError, beginning with `what`, unless a text can be the name of a folder."""
    _refuse_unprintable(name, what)
    if name in (".", "..") or any(mark in name for mark in "/\\"):
        raise ValueError(f"{what} becomes a folder's name and must hold no path, got {name!r}; --out names a folder")
    if len(name) > LONGEST_NAME or len(name.encode()) > LONGEST_NAME_BYTES:
        raise ValueError(
            f"{what} becomes a folder's name: at most {LONGEST_NAME} characters and {LONGEST_NAME_BYTES} bytes, "
            f"got {len(name)} characters"
        )


def refuse_source_name(name: str, what: str) -> None:
    """Raise ValueError, beginning with `what`, for an empty, unprintable or overlong name of a source."""
    _refuse_unprintable(name, what)
    if len(name) > LONGEST_SOURCE:
        raise ValueError(f"{what} holds a name of {len(name)} characters; at most {LONGEST_SOURCE} are allowed")


def has_unprintable(text: str) -> bool:
    """Return whether a text holds control characters, surrogates or line separators."""
    return any(unicodedata.category(sign) in _UNPRINTABLE for sign in text)


def _refuse_unprintable(name: str, what: str) -> None:
    if not name.strip():
        raise ValueError(f"{what} must hold no empty name, got {name!r}")
    if has_unprintable(name):
        raise ValueError(f"{what} must hold no control characters, got {name!r}")

"""Libraries of others that some tests compare with: skipped where they are missing, unless they must be there."""

import importlib
import os

import pytest


def peer(name):
    """Return a library; without it the test is skipped, or fails where ANDREA_PEERS is set, as in `tox -e export`."""
    return importlib.import_module(name) if os.environ.get("ANDREA_PEERS") else pytest.importorskip(name)

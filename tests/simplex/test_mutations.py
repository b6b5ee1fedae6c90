"""Planted bugs: each known way to get the geometry wrong must be caught by the property checks."""

import pytest
from planted_bugs import BUGS, CHECKS, KILLED, planted


@pytest.mark.parametrize("check", CHECKS)
def test_the_sound_code_passes_every_check(check):
    check()


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name):
    with planted(name) as check, pytest.raises(KILLED):
        check()

"""The page of policies and rewards names every one of them."""

from pathlib import Path

import pytest

from andrea_plugins.policies import andrea_policies
from andrea_plugins.rewards import andrea_rewards

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*andrea_policies(), *andrea_rewards()])
def test_a_row_of_the_page_is_about(name: str) -> None:
    assert f"\n| `{name}` | " in PAGE

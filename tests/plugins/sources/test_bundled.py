"""The real archives against the numbers of the recipe; reads the archives of ANDREA_TEST_CACHE, or downloads them."""

import os
from pathlib import Path
from typing import Any

import pytest

from andrea_core.data.split import split_groups
from andrea_plugins.sources.registry.reader import Registry
from andrea_plugins.sources.registry.recipe import load_recipe

pytestmark = [pytest.mark.slow, pytest.mark.corpus]
NAMES = list(load_recipe().sources)
TOLERANCE = 0.02


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    named = os.environ.get("ANDREA_TEST_CACHE")
    folder = Path(named) if named else tmp_path_factory.getbasetemp() / "bundled"
    monkeypatch.setenv("ANDREA_CACHE", str(folder))


def _close(got: int, expected: int, slack: int = 0) -> bool:
    return abs(got - expected) <= TOLERANCE * expected + slack


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_source_has_the_documents_and_bytes_of_the_recipe(name: str) -> None:
    expect: dict[str, Any] = load_recipe().source(name).raw["expect"]
    sizes: dict[str, int] = {}
    groups: list[str] = []
    for document in Registry().documents(name):
        groups.append(document.group)
        sizes[document.group] = sizes.get(document.group, 0) + len(document.text.encode())
    held = split_groups(name, sizes)
    assert _close(len(groups), expect["docs"])
    assert _close(sum(sizes.values()), expect["bytes"])
    assert sum(sizes.values()) <= 1_000_000
    assert _close(sum(group in held for group in groups), expect["val_docs"], slack=1)
    assert _close(sum(sizes[group] for group in held), expect["val_bytes"])


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_source_has_the_text_without_a_cap_that_the_recipe_says(name: str) -> None:
    source = load_recipe().source(name)
    available = [entry["available"] for entry in source.raw["entry"] if "available" in entry]
    documents = list(Registry(cap_bytes=10**9).documents(name))
    assert _close(len(documents), sum(entry["docs"] for entry in available))
    assert _close(sum(len(d.text.encode()) for d in documents), sum(entry["bytes"] for entry in available))


def test_no_mail_address_and_no_replacement_character_is_left() -> None:
    import re

    text = "\n".join(document.text for name in NAMES for document in Registry().documents(name))
    assert not re.search(r"[\w.+-]+@(?!example)[\w-]+\.[A-Za-z]{2,}", text)
    assert "\ufffd" not in text

"""A cache of its own for every test, and readers that count how often they are asked."""

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from andrea_core import Document


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ANDREA_CACHE", str(folder))
    return folder


@attrs.define
class CountingReader:
    """Gives fixed documents and counts how often they were read."""

    texts: list[str]
    groups: list[str] = attrs.field(factory=list)
    key: str = "v1"
    calls: int = 0

    def fingerprint(self, name: str) -> str:
        return f"{name}:{self.key}"

    def documents(self, name: str) -> Iterator[Document]:
        self.calls += 1
        for number, text in enumerate(self.texts):
            yield Document(text, self.groups[number] if self.groups else "", "CC0", f"{name}:{number}")


@pytest.fixture
def reader() -> type[CountingReader]:
    return CountingReader

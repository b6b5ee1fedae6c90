"""A cache of its own for every test, and recipes with tiny archives."""

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import tomli_w

from andrea_plugins.sources.registry.reader import Registry

DOWNLOAD = {
    "wheel": ["-m", "pip", "download", "-r", "{requirements}", "-d", "{folder}"],
    "sdist": ["-m", "pip", "download", "--no-binary", "{names}", "-r", "{requirements}", "-d", "{folder}"],
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ANDREA_CACHE", str(folder))
    return folder


def zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return stream.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return stream.getvalue()


@attrs.define
class Mini:
    """A recipe file under construction, with a folder of its archives."""

    folder: Path
    archives: list[dict[str, Any]] = attrs.field(factory=list)
    sources: list[dict[str, Any]] = attrs.field(factory=list)

    def archive(self, name: str, members: Mapping[str, bytes], kind: str = "wheel", **facts: Any) -> None:
        data = zipped(members) if kind == "wheel" else tarred(members)
        file = f"{name}-1.0-py3-none-any.whl" if kind == "wheel" else f"{name}-1.0.tar.gz"
        (self.folder / file).write_bytes(data)
        row = {"id": name, "package": f"{name}-package", "version": "1.0", "kind": kind, "file": file}
        row |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "licence": "MIT"}
        self.archives.append(row | facts)

    def source(self, name: str, *entries: dict[str, Any]) -> None:
        self.sources.append({"name": name, "entry": [{"licence": "MIT", "format": "plain-text"} | e for e in entries]})

    def text(self, what: object) -> str:
        return f"A document of this source that is long enough to stay, number {what}."

    def files(self, count: int = 8, word: str = "one") -> dict[str, bytes]:
        return {f"pkg/{word}{number}.txt": self.text(f"{word} {number}").encode() for number in range(count)}

    def reader(self, **settings: Any) -> Registry:
        return Registry(recipe=self.write(), archives=str(self.folder), **settings)

    def write(self) -> str:
        path = self.folder / "recipe.toml"
        table = {"download": DOWNLOAD, "archive": self.archives, "source": self.sources}
        path.write_text(tomli_w.dumps(table), encoding="utf-8")
        return str(path)


@pytest.fixture
def mini(tmp_path: Path) -> Mini:
    folder = tmp_path / "archives"
    folder.mkdir()
    return Mini(folder)


@pytest.fixture
def simple(mini: Mini) -> Mini:
    code = {"pkg/code.py": b"raise SystemExit", "box-1.0.dist-info/METADATA": b"License: MIT\n\nx"}
    mini.archive("box", mini.files() | code)
    mini.source("mine", {"archive": "box", "members": ["pkg/*.txt"]})
    return mini

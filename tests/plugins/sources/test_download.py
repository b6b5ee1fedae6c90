import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from andrea_core import CorpusError, cache_folder
from andrea_plugins.sources.registry import download
from andrea_plugins.sources.registry.reader import Registry


def test_archives_are_kept_verified_and_read_again_without_the_folder(simple: Any) -> None:
    first = list(simple.reader().documents("mine"))
    assert [path.name for path in (cache_folder() / "archives").iterdir()] == ["box-1.0-py3-none-any.whl"]
    assert list(Registry(recipe=simple.write()).documents("mine")) == first


def test_only_the_archives_of_the_asked_source_are_fetched(simple: Any) -> None:
    simple.archive("other", simple.files(word="two"))
    simple.source("theirs", {"archive": "other", "members": ["pkg/*.txt"]})
    list(simple.reader().documents("theirs"))
    assert [path.name for path in (cache_folder() / "archives").iterdir()] == ["other-1.0-py3-none-any.whl"]


def test_a_wrong_hash_is_refused_and_nothing_stays(simple: Any) -> None:
    simple.archives[0]["sha256"] = "0" * 64
    with pytest.raises(
        CorpusError, match=r"has the sha256 [0-9a-f]{64}, but box-package 1\.0 is pinned to 0{64}.*--archives"
    ):
        list(simple.reader().documents("mine"))
    assert [path.name for path in cache_folder().iterdir()] == ["locks"]


def test_a_wrong_size_is_refused(simple: Any) -> None:
    simple.archives[0]["bytes"] += 1
    with pytest.raises(CorpusError, match=r"has \d+ bytes, but box-1\.0-py3-none-any\.whl has \d+"):
        list(simple.reader().documents("mine"))


def test_a_damaged_archive_in_the_cache_is_fetched_again(simple: Any) -> None:
    first = list(simple.reader().documents("mine"))
    stored = cache_folder() / "archives" / "box-1.0-py3-none-any.whl"
    data = bytearray(stored.read_bytes())
    data[50] ^= 1
    stored.write_bytes(data)
    assert list(simple.reader().documents("mine")) == first


def test_a_missing_file_in_the_folder_names_it(simple: Any, tmp_path: Path) -> None:
    reader = Registry(recipe=simple.write(), archives=str(tmp_path / "nowhere"))
    with pytest.raises(CorpusError, match=r"nowhere/box-1\.0-py3-none-any\.whl cannot be read.*box-package 1\.0"):
        list(reader.documents("mine"))


def test_notices_hold_licence_texts_or_what_the_metadata_say(simple: Any) -> None:
    simple.archive(
        "tape",
        {"tape-1.0/LICENSE": b"Do what you want.", **simple.files(word="two")},
        licence_member="tape-1.0/LICENSE",
    )
    simple.source("theirs", {"archive": "tape", "members": ["pkg/*.txt"]})
    reader = simple.reader()
    list(reader.documents("mine"))
    list(reader.documents("theirs"))
    notices = (cache_folder() / "NOTICES").read_text()
    assert "box-package 1.0" in notices
    assert "License: MIT" in notices
    assert "Do what you want." in notices


class Pip:
    """Stands in for pip: notes its arguments, and either delivers the archives or fails."""

    def __init__(self, folder: Path, code: int = 0, stderr: str = "") -> None:
        self.folder, self.code, self.stderr = folder, code, stderr
        self.calls: list[list[str]] = []
        self.requirements = ""

    def __call__(self, arguments: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append(arguments)
        place = Path(arguments[arguments.index("-d") + 1])
        self.requirements = Path(arguments[arguments.index("-r") + 1]).read_text()
        for line in self.requirements.splitlines():
            for path in self.folder.glob(f"{line.split('-package')[0]}-*"):
                (place / path.name).write_bytes(path.read_bytes())
        return subprocess.CompletedProcess(arguments, self.code, "", self.stderr)


def test_pip_gets_a_requirements_file_with_hashes(simple: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(simple.folder)
    monkeypatch.setattr(download.subprocess, "run", pip)
    documents = list(Registry(recipe=simple.write()).documents("mine"))
    assert len(documents) == 8
    assert pip.requirements == f"box-package==1.0 --hash=sha256:{simple.archives[0]['sha256']}\n"
    assert pip.calls[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert not [word for word in pip.calls[0] if "index" in word]
    list(Registry(recipe=simple.write()).documents("mine"))
    assert len(pip.calls) == 1


def test_wheels_and_source_archives_are_asked_for_separately(simple: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    simple.archive("tape", simple.files(word="two"), kind="sdist")
    simple.source("both", {"archive": "box", "members": ["pkg/*.txt"]}, {"archive": "tape", "members": ["pkg/*.txt"]})
    pip = Pip(simple.folder)
    monkeypatch.setattr(download.subprocess, "run", pip)
    assert len(list(Registry(recipe=simple.write()).documents("both"))) == 16
    assert len(pip.calls) == 2
    assert pip.calls[1][pip.calls[1].index("--no-binary") + 1] == "tape-package"


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (
            "/usr/bin/python: No module named pip",
            r"downloaded with pip, and .* has none. Run `.* -m ensurepip`.*--archives",
        ),
        (
            "ERROR: no route",
            r"could not download box-package 1\.0 \(box-1\.0.*\)\. Try again.*--archives(?s:.*)no route",
        ),
    ],
)
def test_a_failing_download_names_the_remedy_and_leaves_nothing(
    simple: Any, monkeypatch: pytest.MonkeyPatch, stderr: str, message: str
) -> None:
    monkeypatch.setattr(download.subprocess, "run", Pip(simple.folder, 1, stderr))
    with pytest.raises(CorpusError, match=message):
        list(Registry(recipe=simple.write()).documents("mine"))
    assert [path.name for path in cache_folder().iterdir()] == ["locks"]


def test_a_failing_source_archive_names_wheels_only(mini: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mini.archive("tape", mini.files(), kind="sdist")
    mini.source("mine", {"archive": "tape", "members": ["pkg/*.txt"]})
    monkeypatch.setattr(download.subprocess, "run", Pip(mini.folder / "none", 0))
    with pytest.raises(CorpusError, match="andrea corpus build --wheels-only"):
        list(Registry(recipe=mini.write()).documents("mine"))

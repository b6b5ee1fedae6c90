import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from andrea_core import CorpusError, cache_folder
from andrea_core.data.cache import set_preference
from andrea_plugins.sources.registry import download
from andrea_plugins.sources.registry.archives import chosen, read_members
from andrea_plugins.sources.registry.reader import Registry
from andrea_plugins.sources.registry.recipe import load_recipe

TEXT = "A document of this source that is long enough to stay, number {}."


def _files(count: int = 8, word: str = "one") -> dict[str, bytes]:
    return {f"pkg/{word}{number}.txt": TEXT.format(f"{word} {number}").encode() for number in range(count)}


@pytest.fixture
def simple(mini: Any) -> Any:
    mini.archive(
        "box", _files() | {"pkg/code.py": b"raise SystemExit", "box-1.0.dist-info/METADATA": b"License: MIT\n\nx"}
    )
    mini.source("mine", {"archive": "box", "members": ["pkg/*.txt"]})
    return mini


def _reader(mini: Any, **settings: Any) -> Registry:
    return Registry(recipe=mini.write(), archives=str(mini.folder), **settings)


def test_documents_carry_archive_group_and_licence(simple: Any) -> None:
    documents = list(_reader(simple).documents("mine"))
    assert sorted(document.text for document in documents) == sorted(data.decode() for data in _files().values())
    assert {document.origin for document in documents} == {"box-package 1.0"}
    assert {document.licence for document in documents} == {"MIT"}
    assert documents[0].group.startswith("box/pkg/one")


def test_the_entry_may_have_another_name_than_the_source(simple: Any) -> None:
    reader = _reader(simple, entry="mine")
    assert [d.text for d in reader.documents("other")] == [d.text for d in reader.documents("mine")]
    with pytest.raises(CorpusError, match=r"has no entry 'other'. It has: mine\. Set `entry`"):
        list(_reader(simple).documents("other"))


def test_a_cap_cuts_and_a_larger_one_only_adds(simple: Any) -> None:
    few = [document.text for document in _reader(simple, cap_bytes=200).documents("mine")]
    more = [document.text for document in _reader(simple, cap_bytes=400).documents("mine")]
    assert 0 < len(few) < len(more) < 8
    assert more[: len(few)] == few
    assert sum(len(text) for text in more) <= 400


def test_short_and_repeated_documents_are_left_out(mini: Any) -> None:
    members = {"a.txt": TEXT.format(1), "b.txt": TEXT.format(1).upper(), "c.txt": "short", "d.txt": TEXT.format(2)}
    mini.archive("box", {name: text.encode() for name, text in members.items()})
    mini.source("mine", {"archive": "box", "members": ["*.txt"]}, {"archive": "box", "members": ["a.txt", "d.txt"]})
    assert {document.text for document in _reader(mini).documents("mine")} == {TEXT.format(1), TEXT.format(2)}


def test_archives_are_kept_verified_and_read_again_without_the_folder(simple: Any) -> None:
    first = list(_reader(simple).documents("mine"))
    assert [path.name for path in (cache_folder() / "archives").iterdir()] == ["box-1.0-py3-none-any.whl"]
    assert list(Registry(recipe=simple.write()).documents("mine")) == first


def test_source_archives_are_read_in_sorted_order(mini: Any) -> None:
    files = dict(reversed(_files().items()))
    mini.archive("box", files, kind="sdist")
    names = [member.name for member in read_members(mini.folder / "box-1.0.tar.gz", ["**/*.txt"])]
    assert names == sorted(name.rsplit("/", 1)[-1] for name in files)


def test_only_the_archives_of_the_asked_source_are_fetched(simple: Any) -> None:
    simple.archive("other", _files(word="two"))
    simple.source("theirs", {"archive": "other", "members": ["pkg/*.txt"]})
    list(_reader(simple).documents("theirs"))
    assert [path.name for path in (cache_folder() / "archives").iterdir()] == ["other-1.0-py3-none-any.whl"]


def test_a_wrong_hash_is_refused_and_nothing_stays(simple: Any) -> None:
    simple.archives[0]["sha256"] = "0" * 64
    with pytest.raises(
        CorpusError, match=r"has the sha256 [0-9a-f]{64}, but box-package 1\.0 is pinned to 0{64}.*--archives"
    ):
        list(_reader(simple).documents("mine"))
    assert not list((cache_folder() / "archives").glob("*")) if (cache_folder() / "archives").exists() else True


def test_a_wrong_size_is_refused(simple: Any) -> None:
    simple.archives[0]["bytes"] += 1
    with pytest.raises(CorpusError, match=r"has \d+ bytes, but box-1\.0-py3-none-any\.whl has \d+"):
        list(_reader(simple).documents("mine"))


def test_a_damaged_archive_in_the_cache_is_fetched_again(simple: Any) -> None:
    first = list(_reader(simple).documents("mine"))
    stored = cache_folder() / "archives" / "box-1.0-py3-none-any.whl"
    data = bytearray(stored.read_bytes())
    data[50] ^= 1
    stored.write_bytes(data)
    assert list(_reader(simple).documents("mine")) == first


def test_a_missing_file_in_the_folder_names_it(simple: Any, tmp_path: Path) -> None:
    reader = Registry(recipe=simple.write(), archives=str(tmp_path / "nowhere"))
    with pytest.raises(CorpusError, match=r"nowhere/box-1\.0-py3-none-any\.whl cannot be read.*box-package 1\.0"):
        list(reader.documents("mine"))


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
    simple.archive("tape", _files(word="two"), kind="sdist")
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
    mini.archive("tape", _files(), kind="sdist")
    mini.source("mine", {"archive": "tape", "members": ["pkg/*.txt"]})
    monkeypatch.setattr(download.subprocess, "run", Pip(mini.folder / "none", 0))
    with pytest.raises(CorpusError, match="andrea corpus build --wheels-only"):
        list(Registry(recipe=mini.write()).documents("mine"))


def test_without_source_archives_the_running_python_gives_the_text(mini: Any) -> None:
    mini.archive("tape", _files(), kind="sdist")
    local = {"runtime": "pydoc_data.topics", "format": "pydoc-topics", "role": "local", "licence": "PSF-2.0"}
    mini.source("mine", {"archive": "tape", "members": ["pkg/*.txt"]}, local)
    reader = _reader(mini, cap_bytes=20_000)
    before = reader.fingerprint("mine")
    assert {document.licence for document in reader.documents("mine")} == {"MIT"}
    set_preference("wheels_only", True)
    assert reader.fingerprint("mine") != before
    documents = list(reader.documents("mine"))
    assert {document.licence for document in documents} == {"PSF-2.0"}
    assert all(document.origin.startswith("Python 3.") for document in documents)
    set_preference("wheels_only", False)
    assert reader.fingerprint("mine") == before


def test_wheels_only_leaves_sources_without_source_archives_alone(simple: Any) -> None:
    reader = _reader(simple)
    before = reader.fingerprint("mine")
    set_preference("wheels_only", True)
    assert reader.fingerprint("mine") == before


def test_the_fingerprint_follows_cap_archive_and_recipe(simple: Any) -> None:
    seen = {_reader(simple).fingerprint("mine"), _reader(simple, cap_bytes=9).fingerprint("mine")}
    simple.sources[0]["entry"][0]["members"] = ["pkg/*1.txt"]
    other = simple.folder / "other.toml"
    other.write_bytes(Path(simple.write()).read_bytes())
    seen.add(Registry(recipe=str(other)).fingerprint("mine"))
    other2 = simple.folder / "other2.toml"
    other2.write_text(other.read_text().replace(simple.archives[0]["sha256"], "1" * 64))
    seen.add(Registry(recipe=str(other2)).fingerprint("mine"))
    assert len(seen) == 4


def test_local_text_of_installed_packages_is_parsed_and_never_imported(
    mini: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    package = tmp_path / "site" / "strange"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f'"""{TEXT.format(0) * 3}"""\nraise SystemExit\n')
    monkeypatch.syspath_prepend(str(package.parent))
    local = {"runtime": "installed:strange,absent", "format": "py-docstrings", "role": "local"}
    mini.archive("box", _files())
    mini.source("mine", {"archive": "box", "members": ["pkg/*.txt"]}, local)
    documents = list(_reader(mini, local_text=True).documents("mine"))
    assert [d.group for d in documents if "strange" in d.group] == ["installed:strange,absent/strange/__init__.py"]
    assert len(documents) == 9
    assert "strange" not in sys.modules


@pytest.mark.parametrize("damage", ["not toml [", "[download]\n[[archive]]\nid = 'a'\n[[source]]\nname = 's'\n"])
def test_a_recipe_that_is_none_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(damage)
    with pytest.raises(CorpusError, match=r"r\.toml is not valid"):
        load_recipe(path)


def test_a_recipe_that_names_an_unknown_archive_is_refused(simple: Any) -> None:
    simple.source("bad", {"archive": "nowhere", "members": ["*"]})
    with pytest.raises(CorpusError, match="source bad names the archive nowhere"):
        _reader(simple).fingerprint("bad")


def test_patterns_keep_stars_inside_one_part_of_a_path() -> None:
    assert chosen("a/b.txt", ["a/*.txt"])
    assert not chosen("a/c/b.txt", ["a/*.txt"])
    assert chosen("a/b.rst", ["a/**/*.rst"])
    assert chosen("a/c/d/b.rst", ["a/**/*.rst"])
    assert not chosen("a/tests/b.py", ["a/**/*.py"], ["**/tests/**"])


def test_notices_hold_licence_texts_or_what_the_metadata_say(simple: Any) -> None:
    simple.archive(
        "tape", {"tape-1.0/LICENSE": b"Do what you want.", **_files(word="two")}, licence_member="tape-1.0/LICENSE"
    )
    simple.source("theirs", {"archive": "tape", "members": ["pkg/*.txt"]})
    reader = _reader(simple)
    list(reader.documents("mine"))
    list(reader.documents("theirs"))
    notices = (cache_folder() / "NOTICES").read_text()
    assert "box-package 1.0" in notices
    assert "License: MIT" in notices
    assert "Do what you want." in notices


def test_the_bundled_recipe_has_sixteen_sources_from_eleven_archives() -> None:
    recipe = load_recipe()
    assert (len(recipe.sources), len(recipe.archives)) == (16, 11)
    assert sum(archive.bytes for archive in recipe.archives.values()) == 46_459_906
    assert Registry().entries() == tuple(recipe.sources)
    used = {entry.archive for source in recipe.sources.values() for entry in source.entries if entry.archive}
    assert used == recipe.archives.keys()


def test_a_fingerprint_is_json_free_text_of_the_settings(simple: Any) -> None:
    assert json.dumps(_reader(simple).fingerprint("mine"))
    assert _reader(simple).fingerprint("mine") == Registry(recipe=simple.write()).fingerprint("mine")

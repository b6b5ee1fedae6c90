import sys
from pathlib import Path
from typing import Any

import pytest

from andrea_core import CorpusError
from andrea_core.data.cache import set_preference
from andrea_plugins.sources.registry.archives import chosen, read_members
from andrea_plugins.sources.registry.reader import Registry
from andrea_plugins.sources.registry.recipe import load_recipe


def test_documents_carry_archive_group_and_licence(simple: Any) -> None:
    documents = list(simple.reader().documents("mine"))
    assert sorted(document.text for document in documents) == sorted(data.decode() for data in simple.files().values())
    assert {document.origin for document in documents} == {"box-package 1.0"}
    assert {document.licence for document in documents} == {"MIT"}
    assert documents[0].group.startswith("box/pkg/one")


def test_the_entry_may_have_another_name_than_the_source(simple: Any) -> None:
    reader = simple.reader(entry="mine")
    assert [d.text for d in reader.documents("other")] == [d.text for d in reader.documents("mine")]
    with pytest.raises(CorpusError, match=r"has no entry 'other'. It has: mine\. Set `entry`"):
        list(simple.reader().documents("other"))


def test_a_cap_cuts_and_a_larger_one_only_adds(simple: Any) -> None:
    few = [document.text for document in simple.reader(cap_bytes=200).documents("mine")]
    more = [document.text for document in simple.reader(cap_bytes=400).documents("mine")]
    assert 0 < len(few) < len(more) < 8
    assert more[: len(few)] == few
    assert sum(len(text) for text in more) <= 400


def test_short_and_repeated_documents_are_left_out(mini: Any) -> None:
    members = {"a.txt": mini.text(1), "b.txt": mini.text(1).upper(), "c.txt": "short", "d.txt": mini.text(2)}
    mini.archive("box", {name: text.encode() for name, text in members.items()})
    mini.source("mine", {"archive": "box", "members": ["*.txt"]}, {"archive": "box", "members": ["a.txt", "d.txt"]})
    assert {document.text for document in mini.reader().documents("mine")} == {mini.text(1), mini.text(2)}


def test_source_archives_are_read_in_sorted_order(mini: Any) -> None:
    files = dict(reversed(mini.files().items()))
    mini.archive("box", files, kind="sdist")
    names = [member.name for member in read_members(mini.folder / "box-1.0.tar.gz", ["**/*.txt"])]
    assert names == sorted(name.rsplit("/", 1)[-1] for name in files)


def test_without_source_archives_the_running_python_gives_the_text(mini: Any) -> None:
    mini.archive("tape", mini.files(), kind="sdist")
    local = {"runtime": "pydoc_data.topics", "format": "pydoc-topics", "role": "local", "licence": "PSF-2.0"}
    mini.source("mine", {"archive": "tape", "members": ["pkg/*.txt"]}, local)
    reader = mini.reader(cap_bytes=20_000)
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
    reader = simple.reader()
    before = reader.fingerprint("mine")
    set_preference("wheels_only", True)
    assert reader.fingerprint("mine") == before


def test_the_fingerprint_follows_cap_archive_and_recipe(simple: Any) -> None:
    seen = {simple.reader().fingerprint("mine"), simple.reader(cap_bytes=9).fingerprint("mine")}
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
    (package / "__init__.py").write_text(f'"""{mini.text(0) * 3}"""\nraise SystemExit\n')
    monkeypatch.syspath_prepend(str(package.parent))
    local = {"runtime": "installed:strange,absent", "format": "py-docstrings", "role": "local"}
    mini.archive("box", mini.files())
    mini.source("mine", {"archive": "box", "members": ["pkg/*.txt"]}, local)
    documents = list(mini.reader(local_text=True).documents("mine"))
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
        simple.reader().fingerprint("bad")


def test_patterns_keep_stars_inside_one_part_of_a_path() -> None:
    assert chosen("a/b.txt", ["a/*.txt"])
    assert not chosen("a/c/b.txt", ["a/*.txt"])
    assert chosen("a/b.rst", ["a/**/*.rst"])
    assert chosen("a/c/d/b.rst", ["a/**/*.rst"])
    assert not chosen("a/tests/b.py", ["a/**/*.py"], ["**/tests/**"])


def test_the_bundled_recipe_has_sixteen_sources_from_eleven_archives() -> None:
    recipe = load_recipe()
    assert (len(recipe.sources), len(recipe.archives)) == (16, 11)
    assert sum(archive.bytes for archive in recipe.archives.values()) == 46_459_906
    assert Registry().entries() == tuple(recipe.sources)
    used = {entry.archive for source in recipe.sources.values() for entry in source.entries if entry.archive}
    assert used == recipe.archives.keys()


def test_the_archives_folder_and_the_place_of_the_recipe_are_no_part_of_the_fingerprint(simple: Any) -> None:
    assert simple.reader().fingerprint("mine") == Registry(recipe=simple.write()).fingerprint("mine")

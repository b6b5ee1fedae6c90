"""A run's plugins are found where they were, or in the files given in their place, by name or by content."""

import hashlib

import pytest

from andrea_core.errors import RunError
from andrea_core.runs.own_plugins import placed


@pytest.fixture
def files(tmp_path):
    """Three plugin files: the run's, gone; one of its name elsewhere; one of its content under another name."""
    text = b"one"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.py").write_bytes(b"another")
    (tmp_path / "copy.py").write_bytes(text)
    run = str(tmp_path / "mine.py")
    facts = {"plugins": [{"name": "mine", "origin": run, "digest": hashlib.sha256(text).hexdigest()}]}
    return facts, run, str(tmp_path / "new" / "mine.py"), str(tmp_path / "copy.py")


def test_a_file_of_the_same_name_or_content_takes_the_place_of_one_that_is_gone(files):
    facts, run, same_name, same_content = files
    assert placed(facts, [run, "epsilon"], [same_name]) == [same_name, "epsilon"]
    assert placed(facts, [run], [same_content]) == [same_content]
    assert placed(facts, [run], [same_content, same_name, "epsilon"]) == [same_name, same_content, "epsilon"]


def test_what_is_gone_and_not_given_is_named(files, tmp_path):
    facts, run, _, _ = files
    (tmp_path / "other.py").write_bytes(b"other")
    for given in ([], [str(tmp_path / "other.py")], ["epsilon"]):
        with pytest.raises(RunError, match=r"the plugin file .*mine\.py of the run is not there any more.*--plugin"):
            placed(facts, [run], given)


def test_what_a_fork_brings_along_stands_only_for_what_is_gone(files, tmp_path):
    facts, run, same_name, same_content = files
    assert placed(facts, [run], [same_name, "epsilon"], only_missing=True) == [same_name]
    (tmp_path / "mine.py").write_bytes(b"one")
    assert placed(facts, [run], [same_name, same_content], only_missing=True) == [run]
    assert placed(facts, [run], [same_name]) == [same_name]

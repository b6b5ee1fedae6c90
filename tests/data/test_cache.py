import multiprocessing
from pathlib import Path

import pytest

from andrea_core.data.cache import (
    build_folder,
    cache_folder,
    locked,
    preference,
    set_preference,
    temporary_folder,
    write_file,
)
from andrea_core.errors import CorpusError


def test_the_cache_is_where_the_variable_says(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv("ANDREA_CACHE")
    assert cache_folder().name == "andrea"


def test_a_folder_is_built_once(cache: Path) -> None:
    calls: list[Path] = []

    def build(folder: Path) -> None:
        calls.append(folder)
        (folder / "a").write_text("x")

    for _ in range(2):
        assert (build_folder(cache / "layer" / "key", build) / "a").read_text() == "x"
    assert len(calls) == 1


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        build_folder(cache / "layer" / "key", build)
    assert list((cache / "layer").iterdir()) == []


def test_leftovers_of_a_killed_build_go_with_the_next_one(cache: Path) -> None:
    left = cache / "layer" / ".building-key-dead"
    left.mkdir(parents=True)
    build_folder(cache / "layer" / "key", lambda folder: None)
    assert [path.name for path in (cache / "layer").iterdir()] == ["key"]


def test_a_full_disk_is_a_clear_error(cache: Path) -> None:
    def build(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(
        CorpusError, match=r"layer cannot be written: No space left on device\. Make room .*ANDREA_CACHE"
    ):
        build_folder(cache / "layer" / "key", build)


def _slow_build(cache: str, queue: "multiprocessing.Queue[int]") -> None:
    def build(folder: Path) -> None:
        queue.put(1)
        (folder / "a").write_text("x" * 100_000)

    build_folder(Path(cache) / "layer" / "key", build)


def test_processes_that_want_the_same_folder_build_it_once(cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[int] = context.Queue()
    with locked(cache / "layer" / "key"):
        workers = [context.Process(target=_slow_build, args=(str(cache), queue)) for _ in range(3)]
        for worker in workers:
            worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert queue.get(timeout=5) == 1
    assert queue.empty()


def test_preferences_are_kept_one_beside_the_other() -> None:
    assert not preference("wheels_only")
    set_preference("wheels_only", True)
    set_preference("other", True)
    set_preference("other", False)
    assert preference("wheels_only")
    assert not preference("other")


def test_a_file_is_written_whole_and_nothing_else_stays(cache: Path) -> None:
    write_file(cache / "NOTICES", b"one")
    write_file(cache / "NOTICES", b"two")
    assert [path.name for path in cache.iterdir()] == ["NOTICES"]
    assert (cache / "NOTICES").read_bytes() == b"two"


def test_a_temporary_folder_is_gone_afterwards(cache: Path) -> None:
    with temporary_folder(cache / "x") as folder:
        (folder / "a").write_text("x")
    assert list(cache.iterdir()) == []

"""Several ranks: together they take the steps that one takes alone, and none waits for one that has failed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from andrea_core.errors import RunError
from andrea_core.model.ranks import ALONE, Ranks, odd_ones

PROGRAM = Path(__file__).parents[1] / "planted" / "rank_steps.py"


def together(count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    command = [*launcher, str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def shown(folder: Path, count: int, *arguments: str) -> dict[str, np.ndarray]:
    out = folder / f"{count}.npz"
    done = together(count, "main", str(out), *arguments)
    assert done.returncode == 0, done.stderr
    with np.load(out) as found:
        return dict(found)


def assert_close(one: dict[str, np.ndarray], other: dict[str, np.ndarray], within: float) -> None:
    assert one.keys() == other.keys()
    for name in one:
        scale = 32.0 if name in ("row_loss", "loss_after") else 1.0  # sums over the 32 tokens of a row
        np.testing.assert_allclose(one[name] / scale, other[name] / scale, rtol=0, atol=within, err_msg=name)


@pytest.mark.parametrize("kind", ["plain", "all"])
def test_two_ranks_show_the_losses_of_one_over_twenty_steps_in_float32(tmp_path: Path, kind: str) -> None:
    one, two = (shown(tmp_path, count, "20", "ddp", kind, "float32") for count in (1, 2))

    for name in ("loss", "row_loss"):
        scale = 32.0 if name == "row_loss" else 1.0
        np.testing.assert_allclose(one[name] / scale, two[name] / scale, rtol=0, atol=1e-6, err_msg=name)
    if kind == "all":
        np.testing.assert_array_equal(one["skipped"], two["skipped"])
        assert one["skipped"].any()


@pytest.mark.slow
def test_two_ranks_equal_one_over_fifty_steps_in_float64(tmp_path: Path) -> None:
    one, two = (shown(tmp_path, count, "50", "ddp", "plain", "float64") for count in (1, 2))

    assert one["row_loss"].dtype == one["model.head.weight"].dtype == np.float64
    assert_close(one, two, 1e-10)


@pytest.mark.slow
def test_a_model_in_parts_equals_a_whole_one_over_twenty_steps(tmp_path: Path) -> None:
    one, two = (shown(tmp_path, count, "20", "fsdp", "plain", "float64") for count in (1, 2))

    assert_close(one, two, 1e-10)


def test_a_rank_that_fails_ends_the_other_with_its_message() -> None:
    done = together(2, "fails", "none")

    assert done.returncode != 0
    assert "rank 1 failed: the disk is on fire" in done.stderr


def test_a_rank_that_decides_otherwise_is_named() -> None:
    done = together(2, "disagrees", "none")

    assert done.returncode != 0
    assert "the ranks do not agree on phase 3: rank 1 decided otherwise" in done.stderr


def test_rows_that_ranks_cannot_share_are_refused_with_a_number_that_works() -> None:
    class Two(Ranks):
        index, size = 1, 2

    assert Two().rows(6) == slice(3, 6)
    with pytest.raises(RunError, match=r"2 ranks cannot share the 5 rows .* for example 4"):
        Two().rows(5)


def test_alone_everything_is_what_it_was() -> None:
    number = torch.tensor(3.5)

    assert ALONE.mean(number) is number
    assert (ALONE.share(lambda: 5), ALONE.largest(2), ALONE.rows(7)) == (5, 2, slice(0, 7))


def test_the_rarer_digest_is_the_odd_one() -> None:
    assert odd_ones(torch.tensor([[7, 2], [1, 2], [1, 2]])) == [0]
    assert odd_ones(torch.tensor([[1, 2], [1, 2]])) == []

"""Which rank says why all end: rank 0, once, whatever went wrong where; another one only where rank 0 cannot."""

from datetime import timedelta

import pytest
import torch.distributed as dist

from andrea_core import launched
from andrea_core.cli import main
from andrea_core.errors import AndreaError, PluginError
from andrea_core.model import launch
from andrea_core.model.launch import Group
from andrea_core.model.ranks import OtherRank

WIRE = RuntimeError("[gloo/transport/tcp/pair.cc:544] Connection closed by peer [127.0.0.1]:1234")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARD_WITHIN", "SAID_WITHIN"):
        monkeypatch.setattr(launch, name, timedelta(milliseconds=20))
    monkeypatch.setattr(launched, "_MOMENT", 0.0)


def endings(*errors: Exception | None) -> list[Exception | None]:
    """What ranks end with that fail in this order; None is one that was killed."""
    store = dist.HashStore()
    groups = [Group(store, rank, len(errors), rank, len(errors)) for rank in range(len(errors))]
    for group, error in zip(groups, errors, strict=True):
        if error is not None:
            group.publish(error)
    return [error and group.blamed(error) for group, error in zip(groups, errors, strict=True)]


def told(error: Exception | None) -> bool:
    return isinstance(error, OtherRank) and error.told


def test_a_fault_that_all_meet_is_said_by_rank_0_alone_as_if_it_were_one() -> None:
    faults = [PluginError("the policy 'x' returned 7") for _ in range(3)]
    first, *others = endings(*faults)

    assert first is faults[0]
    assert all(map(told, others))


def test_a_fault_of_another_rank_is_said_by_rank_0_with_its_number() -> None:
    first, second, third = endings(WIRE, AndreaError("no folder here"), WIRE)

    assert str(first) == "rank 1 failed: no folder here"
    assert not told(first)
    assert told(second)
    assert told(third)


def test_a_fault_that_nobody_foresaw_keeps_its_traceback_on_the_rank_that_has_it() -> None:
    bug = ZeroDivisionError("division by zero")
    first, second, third = endings(WIRE, bug, WIRE)

    assert str(first) == "rank 1 failed: division by zero"
    assert second is bug
    assert told(third)


def test_a_rank_that_was_killed_is_missed_by_rank_0_alone() -> None:
    first, _, third = endings(WIRE, None, WIRE)

    assert "a rank is gone without a word" in str(first)
    assert told(third)


def test_without_rank_0_the_others_say_it_themselves() -> None:
    fault = AndreaError("no folder here")
    _, second, third = endings(None, fault, WIRE)

    assert second is fault
    assert str(third) == "rank 1 failed: no folder here"
    assert "a rank is gone without a word" in str(endings(None, WIRE)[1])


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("arguments", [["run", "x.toml", "--nonsense"], ["fork", "r1@3", "x.toml"]])
def test_arguments_are_refused_by_the_first_rank_of_a_machine_alone(monkeypatch, capfd, rank, arguments) -> None:
    for name, value in (("WORLD_SIZE", 2), ("RANK", rank), ("LOCAL_RANK", rank)):
        monkeypatch.setenv(name, str(value))
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert bool(capfd.readouterr().err) == (rank == 0)

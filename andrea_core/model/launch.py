"""Joins the processes that torchrun started, and lets none of them wait for one that has failed."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from andrea_core.errors import AndreaError, RunError
from andrea_core.model.ranks import ALONE, OtherRank, Ranks, T, refuse_odd

PATIENCE = timedelta(days=7)
"""How long ranks wait for each other: rank 0 may have a large corpus to read; one that dies is noticed at once."""

HEARD_WITHIN = timedelta(seconds=10)
"""How long a rank that has lost another one waits to hear why."""

_FAILURE, _LEFT = "failure", "left"


class Group(Ranks):
    """One of several ranks: numbers on the host go over gloo, those of GPUs over NCCL."""

    def __init__(self, store: Any, index: int, size: int, local: int, neighbours: int) -> None:
        self.index, self.size, self.local, self.neighbours = index, size, local, neighbours
        self._store = store

    def share(self, make: Callable[[], T]) -> T:
        """Return what `make` gives on rank 0, where alone it is called."""
        held: list[Any] = [make() if self.first else None]
        dist.broadcast_object_list(held, src=0, device=torch.device("cpu"))
        shared: T = held[0]
        return shared

    def largest(self, number: int) -> int:
        """Return the largest of the ranks' numbers, each >= 0."""
        held = torch.tensor(number, dtype=torch.int64)
        dist.all_reduce(held, dist.ReduceOp.MAX)
        return int(held)

    def mean(self, number: Tensor) -> Tensor:
        """Return the mean of the ranks' tensors, the same bits on every rank."""
        held = number.detach().clone()
        dist.all_reduce(held)
        return held / self.size

    def gathered(self, tensor: Tensor) -> Tensor:
        """Return the ranks' tensors of one shape stacked, (size, ...)."""
        held = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(held, tensor.contiguous())
        return torch.stack(held)

    def agree(self, what: str, digest: Callable[[], bytes]) -> None:
        """Raise RunError, naming the ranks, unless every rank has the same digest of 32 bytes of `what`."""
        refuse_odd(what, self.gathered(torch.frombuffer(bytearray(digest()), dtype=torch.uint8)))

    def wait(self) -> None:
        """Return when every rank is here."""
        self.largest(0)

    def in_turn(self, make: Callable[[], T]) -> T:
        """Return what `make` gives, rank 0 first, the others when it is done: what it leaves on disk, they find."""
        if self.first:
            made = make()
            self.wait()
            return made
        self.wait()
        return make()

    def part(self) -> None:
        """Return when every rank is done with the connections, so that none closes one that another still reads."""
        names = [f"{_LEFT}/{rank}" for rank in range(self.size)]
        self.wait()
        with suppress(RuntimeError):  # the store goes with the last rank that needs it
            self._store.set(names[self.index], "")
            self._store.wait(names, HEARD_WITHIN)

    def blamed(self, error: Exception) -> Exception:
        """Return what this rank ends with: its own error where it is the first to fail, else OtherRank."""
        if not _from_the_wire(error):
            return self._told(str(error) or type(error).__name__) or error
        heard = self._heard(HEARD_WITHIN)
        if heard is not None:
            return heard
        text = "a rank is gone without a word (killed, or out of memory); resume from the newest checkpoint"
        return self._told(text) or RunError(text)

    def _told(self, text: str) -> OtherRank | None:
        """Publish why this rank ends; return the error of a rank that was faster."""
        mine = json.dumps([self.index, text])
        try:
            won = self._store.compare_set(_FAILURE, "", mine).decode() == mine
        except RuntimeError:  # the store's own process has gone
            return None
        return None if won else self._heard(HEARD_WITHIN)

    def _heard(self, within: timedelta) -> OtherRank | None:
        """Return the failure that another rank has published, waiting a little; None when there is none."""
        try:
            self._store.wait([_FAILURE], within)
            rank, text = json.loads(self._store.get(_FAILURE))
        except (RuntimeError, ValueError):
            return None
        return OtherRank(f"rank {rank} failed: {text}")


@contextmanager
def joined() -> Iterator[Ranks]:
    """Give the ranks that torchrun has started, or ALONE; they leave together.

    Raises what went wrong on the rank where it went wrong first, and OtherRank, which says it again, on the others.
    """
    size = int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1
    if size == 1:
        yield ALONE
        return
    group = _group(size)
    try:
        yield group
        group.part()
    except Exception as error:
        _finish_undisturbed()
        blamed = group.blamed(error)
        _leave(patiently=False)
        if blamed is error:
            raise
        raise blamed from error
    except BaseException:
        _leave(patiently=False)
        raise
    _leave(patiently=True)


def _group(size: int) -> Group:
    index = int(os.environ["RANK"])
    local = int(os.environ.get("LOCAL_RANK", index))
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    backend = "cpu:gloo"
    if torch.cuda.is_available():
        if local >= torch.cuda.device_count():
            raise AndreaError(
                f"rank {index} has no GPU of its own: this machine has {torch.cuda.device_count()}; "
                f"start at most so many ranks, or hide the GPUs with CUDA_VISIBLE_DEVICES= to train on the CPU"
            )
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    store, _, _ = next(rendezvous("env://", index, size, timeout=PATIENCE))
    dist.init_process_group(backend, store=store, rank=index, world_size=size, timeout=PATIENCE)
    return Group(PrefixStore("andrea", store), index, size, local, neighbours)


def _finish_undisturbed() -> None:
    """Ignore SIGTERM from here on: torchrun sends it when a rank has died, and this one has yet to say why it ends."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(*, patiently: bool) -> None:
    """Close the connections; after a failure without waiting for those that hang in one."""
    closing = threading.Thread(target=dist.destroy_process_group, daemon=True)
    closing.start()
    closing.join(None if patiently else 5.0)


def _from_the_wire(error: BaseException | None) -> bool:
    """Return whether an error says that the connection to another rank has broken."""
    if isinstance(error, AndreaError) or not isinstance(error, RuntimeError):
        return False
    words = ("gloo", "nccl", "connection", "broken pipe", "socket", "store", "processgroup")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)

"""Joins the processes that torchrun started, and lets none of them wait for one that has failed."""

import gc
import json
import os
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.nn.functional  # before a group exists: its functions keep the one they find as a default
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from andrea_core.errors import AndreaError, RunError
from andrea_core.launched import said_once, several
from andrea_core.model.ranks import ALONE, OtherRank, Ranks, T, refuse_odd
from andrea_core.stopping import finish_undisturbed

PATIENCE = timedelta(days=7)
"""How long ranks wait for each other: rank 0 may have a large corpus to read; one that dies is noticed at once."""

PARTED_WITHIN, HEARD_WITHIN, SAID_WITHIN = timedelta(seconds=10), timedelta(seconds=5), timedelta(seconds=15)
"""How long ranks that are done wait for each other; how long rank 0, having lost another one, waits to hear why: a rank
says so before it leaves; how long the others wait for what rank 0 says."""

_FAILURE, _SAID, _LEFT = "failure", "said", "left"
_GONE = "a rank is gone without a word (killed, or out of memory); resume from the newest checkpoint"


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
            self._store.wait(names, PARTED_WITHIN)

    def alike(self, make: Callable[[], T]) -> T:
        """Return what `make` gives on this rank; where it raises AndreaError on any, all end with the first one's."""
        made, error = list[T](), None
        try:
            made.append(make())
        except AndreaError as refused:
            error = refused
        texts: list[Any] = [None] * self.size
        dist.all_gather_object(texts, None if error is None else str(error))
        wrong = [rank for rank, text in enumerate(texts) if text is not None]
        if not wrong:
            return made[0]
        if error is not None and wrong[0] == self.index:
            raise error
        raise OtherRank(f"rank {wrong[0]} failed: {texts[wrong[0]]}")

    def publish(self, error: Exception) -> None:
        """Leave word of what this rank ends with, before it goes: the first of its own to fail is the one to blame."""
        if not _from_the_wire(error):
            with suppress(RuntimeError):  # the store's own process has gone
                self._store.compare_set(_FAILURE, "", json.dumps([self.index, str(error) or type(error).__name__]))
            if self.first:
                self._say(self.index)

    def blamed(self, error: Exception) -> Exception:
        """Return what this rank ends with after its `publish`, so that rank 0 has the one message of all ranks.

        Rank 0 says its own error, else the one of the rank that failed first. The others end without a word, but for
        one with an error that nobody foresaw, whose traceback it alone has; and they say it when rank 0 cannot.
        """
        own = not _from_the_wire(error)
        if self.first:
            return error if own else self._first_failure(HEARD_WITHIN)
        said = self._word(_SAID, SAID_WITHIN)
        if said is None or (said == self.index and not isinstance(error, AndreaError)):
            return error if own else self._first_failure(timedelta(milliseconds=1))
        quiet = OtherRank("rank 0 says why")
        quiet.told = True
        return quiet

    def _first_failure(self, within: timedelta) -> RunError:
        """Return the failure that a rank has published, waiting a little; of rank 0, all hear whose it is."""
        found = self._word(_FAILURE, within)
        if self.first:
            self._say(found[0] if found else self.index)
        return OtherRank(f"rank {found[0]} failed: {found[1]}") if found else RunError(_GONE)

    def _say(self, rank: int) -> None:
        """Let the others know that rank 0 has the message, and which rank it blames."""
        with suppress(RuntimeError):
            self._store.set(_SAID, json.dumps(rank))

    def _word(self, key: str, within: timedelta) -> Any:
        """Return what a rank has left under a key, waiting a little; None when there is nothing."""
        try:
            self._store.wait([key], within)
            return json.loads(self._store.get(key))
        except (RuntimeError, ValueError):
            return None


def with_ranks(body: Callable[[Ranks], T]) -> T:
    """Return what `body` gives, called with the ranks that torchrun has started, or with ALONE; they leave together.

    A model that ranks train keeps their connections open for as long as it lives. So it goes with the frame of `body`,
    which must not return it: the ranks that wait for one that has failed then notice at once, and no thread of gloo
    is left that could still want the interpreter when it is taken apart. (FSDP2 keeps a hold of its own.)

    Raises what went wrong on rank 0, which says it for all; on the others OtherRank, which is `told` already.
    """
    if not several():
        return body(ALONE)
    group = _group(int(os.environ["WORLD_SIZE"]))
    try:
        made = body(group)
        group.part()
    except Exception as error:
        finish_undisturbed()
        group.publish(error)
        _leave(error)
        blamed = group.blamed(error)
        if blamed is error:
            raise
        raise blamed from error
    except BaseException as error:
        _leave(error)
        raise
    _leave(None)
    return made


def _group(size: int) -> Group:
    index = int(os.environ["RANK"])
    local = int(os.environ.get("LOCAL_RANK", index))
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    backend = "cpu:gloo"
    if torch.cuda.is_available():
        _refuse_few_gpus(torch.cuda.device_count(), neighbours)
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    store, _, _ = next(rendezvous("env://", index, size, timeout=PATIENCE))
    dist.init_process_group(backend, store=store, rank=index, world_size=size, timeout=PATIENCE)
    return Group(PrefixStore("andrea", store), index, size, local, neighbours)


def _refuse_few_gpus(gpus: int, neighbours: int) -> None:
    """Raise AndreaError on all ranks of a machine that has no GPU for each; the first of them says so."""
    if neighbours > gpus:
        raise said_once(
            AndreaError(
                f"{neighbours} ranks need a GPU each, and this machine has {gpus}; "
                "start at most so many ranks, or hide the GPUs with CUDA_VISIBLE_DEVICES= to train on the CPU"
            )
        )


def _forget_locals(error: BaseException | None) -> None:
    """Empty the frames that an error came through: what they hold keeps the connections open."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _leave(failed: BaseException | None) -> None:
    """Close the connections; after a failure without waiting for those that hang in one."""
    _forget_locals(failed)
    gc.collect()  # models lie in circles
    closing = threading.Thread(target=dist.destroy_process_group, daemon=True)
    closing.start()
    closing.join(None if failed is None else 5.0)


def _from_the_wire(error: BaseException | None) -> bool:
    """Return whether an error says that the connection to another rank has broken."""
    if isinstance(error, AndreaError) or not isinstance(error, RuntimeError):
        return False
    words = ("gloo", "nccl", "connection", "broken pipe", "socket", "store", "processgroup")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)

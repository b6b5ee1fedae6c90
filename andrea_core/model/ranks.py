"""The processes that train one model together; alone, every call is free and changes nothing."""

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

from andrea_core.errors import RunError

T = TypeVar("T")


class OtherRank(RunError):  # noqa: N818 - the error itself is another rank's
    """Another rank has failed; this one only ends, and says why where it is rank 0 or rank 0 cannot."""


class Ranks:
    """A process that trains alone: rank 0 of 1.

    What is said of every method holds for all ranks together: each must come to the same calls in the same order.
    """

    index, size, local, neighbours = 0, 1, 0, 1
    """This rank, the number of ranks; this rank among those of its machine, and their number."""

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes, shows and looks."""
        return self.index == 0

    def rows(self, rows: int) -> slice:
        """Return which of a step's rows are this rank's; raises RunError when the ranks cannot share them equally."""
        if rows % self.size:
            near = max(rows - rows % self.size, self.size)
            raise RunError(
                f"{self.size} ranks cannot share the {rows} rows of a step equally; "
                f"set sampler.rows to a multiple of {self.size}, for example {near}, or start another number of ranks"
            )
        share = rows // self.size
        return slice(self.index * share, (self.index + 1) * share)

    def share(self, make: Callable[[], T]) -> T:
        """Return what `make` gives on rank 0, where alone it is called."""
        return make()

    def alike(self, make: Callable[[], T]) -> T:
        """Return what `make` gives on this rank; where it raises AndreaError on any, all end with the first one's."""
        return make()

    def largest(self, number: int) -> int:
        """Return the largest of the ranks' numbers, each >= 0."""
        return number

    def mean(self, number: Tensor) -> Tensor:
        """Return the mean of the ranks' tensors, the same bits on every rank."""
        return number

    def gathered(self, tensor: Tensor) -> Tensor:
        """Return the ranks' tensors of one shape stacked, (size, ...)."""
        return tensor[None]

    def agree(self, what: str, digest: Callable[[], bytes]) -> None:
        """Raise RunError, naming the ranks, unless every rank has the same digest of 32 bytes of `what`."""

    def wait(self) -> None:
        """Return when every rank is here."""

    def in_turn(self, make: Callable[[], T]) -> T:
        """Return what `make` gives, rank 0 first, the others when it is done: what it leaves on disk, they find."""
        return make()


ALONE = Ranks()


def odd_ones(digests: Tensor) -> list[int]:
    """Return the ranks whose digest, a row of (size, 32) bytes, is not the most frequent; of equals the first counts.

    >>> import torch
    >>> odd_ones(torch.tensor([[1, 2], [1, 2], [7, 2]]))
    [2]
    """
    rows = [tuple(row) for row in digests.tolist()]
    usual = max(rows, key=rows.count)
    return [rank for rank, row in enumerate(rows) if row != usual]


def naming(ranks: list[int]) -> str:
    """Return ranks in words.

    >>> naming([1]), naming([1, 3])
    ('rank 1', 'ranks 1, 3')
    """
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def refuse_odd(what: str, digests: Tensor) -> None:
    """Raise RunError unless all rows of (size, 32) bytes are equal."""
    odd = odd_ones(digests)
    if odd:
        raise RunError(
            f"the ranks do not agree on {what}: {naming(odd)} decided otherwise than the rest; a policy, curriculum or "
            "constraint depends on more than it is given, or the ranks run different code; mend it, then resume"
        )

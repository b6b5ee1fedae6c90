"""The byte-pair tokenizer: trained with the `tokenizers` library, on bytes, so that no text is unknown."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.data.tokenizer import SEPARATOR, Ids
from andrea_core.errors import CorpusError

Merge = tuple[str, str]
_SEPARATOR_NAME = " separator"  # a blank never occurs in a byte-level token, so no text can produce this one


@attrs.define(eq=False, slots=False)
class BpeTokenizer:
    """Byte pairs: tokens 0 to 255 are the bytes, 256 is the separator, the others are the merges in order.

    `merges` are pairs of tokens in the byte-level alphabet (Radford et al. 2019): a visible character for each byte.
    """

    merges: Sequence[Merge]
    name = "bpe"
    separator = SEPARATOR

    @property
    def vocabulary(self) -> int:
        """The number of tokens, bytes and separator among them."""
        return SEPARATOR + 1 + len(self.merges)

    @cached_property
    def byte_lengths(self) -> npt.NDArray[np.int64]:
        """(V,) the bytes of each token, 0 for the separator."""
        return np.array([len(piece) for piece in self._pieces], dtype=np.int64)

    @cached_property
    def digest(self) -> str:
        """The sha256 of the merges."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def encode(self, text: str) -> Ids:
        """Return the tokens of a text."""
        return np.array(self._engine.encode(text, add_special_tokens=False).ids, dtype=np.uint16)

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the text of tokens; separators go, what is no UTF-8 is replaced."""
        return b"".join(self._pieces[token] for token in np.asarray(ids).tolist()).decode("utf-8", "replace")

    def to_json(self) -> str:
        """Return the merges as JSON."""
        return json.dumps({"use": "bpe", "merges": [list(merge) for merge in self.merges]})

    @cached_property
    def _pieces(self) -> list[bytes]:
        byte_of = {sign: byte for byte, sign in enumerate(alphabet())}
        merged = [bytes(byte_of[sign] for sign in left + right) for left, right in self.merges]
        return [*(bytes([byte]) for byte in range(256)), b"", *merged]

    @cached_property
    def _engine(self) -> Any:
        library = _library()
        names = [*alphabet(), _SEPARATOR_NAME, *(left + right for left, right in self.merges)]
        vocabulary = {name: number for number, name in enumerate(names)}
        engine = library.Tokenizer(library.models.BPE(vocab=vocabulary, merges=[tuple(merge) for merge in self.merges]))
        engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
        return engine


def train(texts: Iterator[str], vocabulary: int) -> BpeTokenizer:
    """Return byte pairs learned from texts; a small text may give fewer than `vocabulary` tokens.

    Raises:
        CorpusError: the `tokenizers` library is missing.
    """
    library = _library()
    engine = library.Tokenizer(library.models.BPE())
    engine.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocabulary - 1,  # the separator is no part of the library's vocabulary
        initial_alphabet=alphabet(),
        show_progress=False,
    )
    engine.train_from_iterator(texts, trainer)
    merges = json.loads(engine.to_str())["model"]["merges"]
    return BpeTokenizer([_pair(merge) for merge in merges])


def _pair(merge: str | list[str]) -> Merge:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def alphabet() -> list[str]:
    """The visible character of each byte: itself where it is printable, else the next free one from 256 on."""
    visible = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    free = iter(range(256, 512))
    return [chr(byte) if byte in visible else chr(next(free)) for byte in range(256)]


def _library() -> ModuleType:
    try:
        import tokenizers
    except ModuleNotFoundError:
        raise CorpusError(
            'tokenizer.use = "bpe" needs the library `tokenizers`. Run `pip install andrea[tokenizers]`, or use '
            '"bytes".'
        ) from None
    return tokenizers

"""Turns text into numbers and back: bytes, or byte pairs trained on the corpus; both return any text exactly."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from andrea_core.errors import CorpusError
from andrea_core.fields import number, one_of

Ids = npt.NDArray[np.uint16]
SEPARATOR = 256
BYTES_VOCABULARY = 257
_LARGEST = 65536


class Tokenizer(Protocol):
    """What the rest of the project needs from a tokenizer; `separator` stands between documents and in no text."""

    @property
    def name(self) -> str:
        """The name written in TOML."""

    @property
    def vocabulary(self) -> int:
        """The number of tokens V, the separator among them."""

    @property
    def separator(self) -> int:
        """The number of the token that stands between documents."""

    @property
    def byte_lengths(self) -> npt.NDArray[np.int64]:
        """(V,) the UTF-8 bytes of each token, 0 for the separator."""

    @property
    def digest(self) -> str:
        """The sha256 of everything that decides the encoding."""

    def encode(self, text: str) -> Ids:
        """Return the tokens of a text, uint16, without separators."""

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the text of tokens: separators go, bytes that are no UTF-8 become replacement characters."""

    def to_json(self) -> str:
        """Return a text from which `from_json` makes the same tokenizer."""


@attrs.frozen(eq=False)
class ByteTokenizer:
    """Bytes 0 to 255 and the separator 256."""

    name = "bytes"
    vocabulary = BYTES_VOCABULARY
    separator = SEPARATOR

    @property
    def byte_lengths(self) -> npt.NDArray[np.int64]:
        """(257,) ones, and 0 for the separator."""
        return np.append(np.ones(SEPARATOR, dtype=np.int64), 0)

    @property
    def digest(self) -> str:
        """The name says it all."""
        return "bytes-v1"

    def encode(self, text: str) -> Ids:
        """Return the UTF-8 bytes of a text."""
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint16)

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the text of some bytes; separators go, what is no UTF-8 is replaced."""
        values = np.asarray(ids)
        data: bytes = values[values != SEPARATOR].astype(np.uint8).tobytes()
        return data.decode("utf-8", "replace")

    def to_json(self) -> str:
        """Return `{"use": "bytes"}`."""
        return json.dumps({"use": "bytes"})


@attrs.frozen
class TokenizerSettings:
    """The table `[tokenizer]`: `bytes`, or `bpe` with a `vocabulary` that counts the 256 bytes and the separator too.

    Byte pairs are learned from the training text, at most `training_bytes` of each source.
    """

    use: Literal["bytes", "bpe"] = one_of("bytes", "bpe", default="bytes")
    vocabulary: int = number(default=4096, at_least=BYTES_VOCABULARY, at_most=_LARGEST)
    training_bytes: int = number(default=10_000_000, above=0)

    def build(self, texts: Callable[[], Iterator[str]]) -> Tokenizer:
        """Return the tokenizer, trained on the texts where it needs it. Raises CorpusError without `tokenizers`."""
        if self.use == "bytes":
            return ByteTokenizer()
        from andrea_core.data.bpe import train

        return train(texts(), self.vocabulary)


def from_json(text: str) -> Tokenizer:
    """Return the tokenizer that `to_json` wrote. Raises CorpusError for any other text."""
    try:
        table: dict[str, Any] = json.loads(text)
        use = table["use"]
        if use not in ("bytes", "bpe"):
            raise ValueError(f"unknown tokenizer {use!r}")
        merges = [(left, right) for left, right in table["merges"]] if use == "bpe" else []
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"This is no stored tokenizer: {error}. Take the file from an undamaged run.") from None
    if use == "bytes":
        return ByteTokenizer()
    from andrea_core.data.bpe import BpeTokenizer

    return BpeTokenizer(merges)

"""A tokenizer as the `tokenizer.json` that the `tokenizers` and `transformers` libraries read."""

from typing import Any

from andrea_core.data.bpe import BpeTokenizer, alphabet
from andrea_core.data.tokenizer import SEPARATOR, Tokenizer

SEPARATOR_NAME = "<|separator|>"
"""What the separator is called there; a text that holds these very letters is read as a separator."""


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the table of `tokenizer.json`: byte-level byte pairs (none for plain bytes), a separator in front."""
    merges = [list(merge) for merge in tokenizer.merges] if isinstance(tokenizer, BpeTokenizer) else []
    names = [*alphabet(), SEPARATOR_NAME, *(left + right for left, right in merges)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    separator = {"id": SEPARATOR, "content": SEPARATOR_NAME, "special": True, "normalized": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [separator | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": _separator_first(),
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {name: number for number, name in enumerate(names)},
            "merges": merges,
        },
    }


def tokenizer_config(context: int) -> dict[str, Any]:
    """Return the table of `tokenizer_config.json` for a model that reads `context` tokens."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SEPARATOR_NAME,
        "eos_token": SEPARATOR_NAME,
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
    }


def _separator_first() -> dict[str, Any]:
    """Return the rule that a text begins behind a separator, as every document did in training."""
    first = {"SpecialToken": {"id": SEPARATOR_NAME, "type_id": 0}}
    texts = [{"Sequence": {"id": name, "type_id": kind}} for kind, name in enumerate("AB")]
    known = {"id": SEPARATOR_NAME, "ids": [SEPARATOR], "tokens": [SEPARATOR_NAME]}
    return {
        "type": "TemplateProcessing",
        "single": [first, texts[0]],
        "pair": [first, *texts],
        "special_tokens": {SEPARATOR_NAME: known},
    }

"""Sources of text: the bundled recipe, and the user's own files."""

from collections.abc import Mapping

from andrea_core import hookimpl
from andrea_plugins.sources.datasets import HuggingFace
from andrea_plugins.sources.jsonl import Jsonl
from andrea_plugins.sources.parquet import Parquet
from andrea_plugins.sources.registry.reader import Registry
from andrea_plugins.sources.textfiles import Text


@hookimpl
def andrea_sources() -> Mapping[str, type]:
    """Register the built-in sources."""
    return {"registry": Registry, "text": Text, "jsonl": Jsonl, "parquet": Parquet, "huggingface": HuggingFace}

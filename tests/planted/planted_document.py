"""A plugin: the source `planted` is the registry's of that name with one document more, which says one thing."""

from collections.abc import Iterator, Mapping

import attrs

from andrea_core import Document, hookimpl
from andrea_plugins.sources.registry.reader import Registry

TEXT = "The miller of the old river house counts seven grey geese before the winter bell rings at dawn. "


@attrs.frozen
class Planted:
    """Put `copies` of a sentence of 96 bytes, as one document, before the registry's document number `before`."""

    before: int
    copies: int

    def fingerprint(self, name: str) -> str:
        """Return a digest of the registry's text, and the plant."""
        return f"{Registry().fingerprint(name)}-{self.before}-{self.copies}-{TEXT}"

    def documents(self, name: str) -> Iterator[Document]:
        """Yield the documents; the name of the planted one's group puts it on the training side."""
        for number, document in enumerate(Registry().documents(name)):
            if number == self.before:
                yield Document(TEXT * self.copies, "the miller", "", "planted")
            yield document


@hookimpl
def andrea_sources() -> Mapping[str, type]:
    """Register the source."""
    return {"planted": Planted}

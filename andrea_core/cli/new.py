"""`andrea plugins new KIND NAME`: write a working single-file plugin with its test beside it."""

import keyword
import re
from pathlib import Path

from andrea_core.cli.templates import TEMPLATES, TEST
from andrea_core.errors import PluginError
from andrea_core.spelling import nearest


def write_plugin(kind: str, name: str, folder: Path) -> tuple[Path, Path]:
    """Write NAME.py and test_NAME.py into a folder and return their paths.

    Raises PluginError for an unknown kind, a name that cannot be a module's, and a file that is there already.
    """
    if kind not in TEMPLATES:
        raise PluginError(f"no kind of plugin is called {kind!r}{nearest(kind, TEMPLATES)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name) or keyword.iskeyword(name):
        raise PluginError(
            f"the name {name!r} cannot be a plugin file's; use small letters, digits and _, a letter first"
        )
    paths = folder / f"{name}.py", folder / f"test_{name}.py"
    for path in paths:
        if path.exists():
            raise PluginError(f"{path} is there already and is not overwritten; choose another name or folder")
    cls = "".join(part.capitalize() for part in name.split("_"))
    for path, template in zip(paths, (TEMPLATES[kind], TEST[kind]), strict=True):
        try:
            path.write_text(template.replace("NAME", name).replace("CLASS", cls), encoding="utf-8")
        except OSError as error:
            raise PluginError(f"{path} cannot be written: {error.strerror}; check the folder") from error
    return paths

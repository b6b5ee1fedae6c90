"""Opens the observers of a run: what each is handed, and the error of one that cannot start."""

from typing import Any

from andrea_core.errors import PluginError
from andrea_core.plugins import Catalogue
from andrea_core.runs.folder import RunFolder
from andrea_core.scenario import Scenario
from andrea_core.spelling import said
from andrea_core.values import Sources


def observers_of(scenario: Scenario, catalogue: Catalogue, folder: RunFolder, sources: Sources) -> list[Any]:
    """Return (name, observer, what it opened) for each; raises PluginError, naming the one that cannot start."""
    from andrea_core.model.bystander import Bystander  # imports torch

    opened = []
    for observer in scenario.observers:
        name = catalogue.name_of("observers", observer)
        try:
            quiet = Bystander(observer)
            opened.append((name, quiet, quiet.open(str(folder.path), sources)))
        except (Exception, SystemExit, GeneratorExit) as error:
            what = f"{type(error).__name__}: {said(error)}"
            raise PluginError(f"the observer {name!r} cannot start: {what}") from error
    return opened

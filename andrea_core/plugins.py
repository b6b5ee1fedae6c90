"""Finds plugins (entry points, single files) and holds the Catalogue of the classes they register."""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pluggy

from andrea_core import contracts, hookspecs
from andrea_core.errors import PluginError
from andrea_core.names import has_unprintable
from andrea_core.spelling import OWN_PLUGIN, nearest, shown

GROUP = "andrea"
KINDS: Mapping[str, type] = {
    "sources": contracts.SourceReader,
    "curricula": contracts.Curriculum,
    "constraints": contracts.ConstraintSet,
    "phases": contracts.Phases,
    "policies": contracts.Policy,
    "adjusts": contracts.Adjust,
    "rewards": contracts.Reward,
    "probes": contracts.Probe,
    "observers": contracts.Observer,
}
"""The kinds of plugin, in the order of the data's way, and the contract of each."""

SINGULAR = {kind: {"curricula": "curriculum", "policies": "policy"}.get(kind, kind.rstrip("s")) for kind in KINDS}


@attrs.frozen
class Registration:
    """One registered class: its kind, the name written in TOML, and who registered it."""

    kind: str
    name: str
    cls: type
    plugin: str
    origin: str


@attrs.frozen
class ActivePlugin:
    """One active plugin: its name, where it came from, and a digest that changes with its code."""

    name: str
    origin: str
    digest: str


@attrs.frozen(eq=False)
class Catalogue:
    """The registered classes by kind and name. Each run has its own; nothing is global."""

    table: Mapping[str, Mapping[str, Registration]]
    active: tuple[ActivePlugin, ...]
    inactive: tuple[str, ...]

    @classmethod
    def of(cls, plugins: Sequence[str] = (), *, folder: Path | None = None) -> "Catalogue":
        """Load the built-ins and the named plugins: distributions by entry-point name, or files ending in .py.

        A relative file is looked for in `folder`, then in the current directory. Raises PluginError.
        """
        manager = pluggy.PluginManager("andrea")
        manager.add_hookspecs(hookspecs)
        installed = {point.name: point for point in entry_points(group=GROUP) if not _built_in(point)}
        loaded: list[tuple[ModuleType, ActivePlugin]] = [
            (_load(point), ActivePlugin(f"andrea.{point.name}", point.value, _version(point)))
            for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)
            if _built_in(point)
        ]
        loaded += [_named(name, installed, folder) for name in dict.fromkeys(plugins)]
        for module, plugin in loaded:
            _register(manager, module, plugin)
        table = {kind: _table(manager, kind, dict(loaded_by_name(loaded))) for kind in KINDS}
        inactive = tuple(sorted(installed.keys() - set(plugins)))
        return cls(table, tuple(plugin for _, plugin in loaded), inactive)

    def get(self, kind: str, name: str) -> type:
        """Return the class registered under a name; raises PluginError with the nearest spelling."""
        if name in self.table[kind]:
            return self.table[kind][name].cls
        hint = nearest(name, self.table[kind])
        if self.inactive:
            hint += f"; installed but not active: {', '.join(self.inactive)} (name one in `plugins`, or use --plugin)"
        raise PluginError(f"no {SINGULAR[kind]} is called {name!r}{hint}; {OWN_PLUGIN}")

    def name_of(self, kind: str, component: object) -> str:
        """Return the name under which a component's class is registered."""
        for registration in self.table[kind].values():
            if registration.cls is type(component):
                return registration.name
        raise PluginError(f"{type(component).__qualname__} is not registered as a {SINGULAR[kind]}")

    def origin_of(self, kind: str, name: str) -> str:
        """Return which plugin registered a name, for messages."""
        found = self.table[kind].get(name)
        return f"{found.plugin} ({found.origin})" if found else "an unknown plugin"


def loaded_by_name(loaded: Sequence[tuple[ModuleType, ActivePlugin]]) -> Iterator[tuple[str, ActivePlugin]]:
    """Yield (pluggy name, plugin) of loaded plugins."""
    return ((plugin.name, plugin) for _, plugin in loaded)


def _built_in(point: EntryPoint) -> bool:
    return point.value.split(".")[0].split(":")[0] == "andrea_plugins"


def _version(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else ""


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plugin that ends the program at import is no success
        raise PluginError(f"plugin {point.name!r} ({point.value}) failed to load: {_one_line(error)}") from error


def _named(name: str, installed: Mapping[str, EntryPoint], folder: Path | None) -> tuple[ModuleType, ActivePlugin]:
    if name.endswith(".py"):
        path = _find(name, folder)
        return load_file(path), ActivePlugin(path.stem, str(path), file_digest(path))
    if name not in installed:
        hint = nearest(name, installed) if installed else "; no plugin distribution is installed"
        raise PluginError(f"no installed plugin is called {name!r}{hint}; a single file is named with its .py")
    point = installed[name]
    module = _load(point)
    digest = file_digest(Path(module.__file__)) if getattr(module, "__file__", None) else ""
    return module, ActivePlugin(name, f"{point.value}, {_version(point)}", digest)


def _find(name: str, folder: Path | None) -> Path:
    try:
        asked = Path(name).expanduser()
        places = [asked] if asked.is_absolute() else [place / asked for place in (folder, Path.cwd()) if place]
        for place in places:
            if place.is_file():
                return place.resolve()
    except (OSError, RuntimeError) as error:  # a name that is too long, a home folder that nobody has
        raise PluginError(f"the plugin file {shown(name)} cannot be looked for: {error}; check its name") from error
    raise PluginError(f"the plugin file {name!r} does not exist (looked for {' and '.join(map(str, places))})")


def file_digest(path: Path) -> str:
    """Return the sha256 of a plugin file; raises PluginError when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise PluginError(f"the plugin file {path} cannot be read: {error.strerror}; check its permissions") from error


def load_file(path: Path) -> ModuleType:
    """Import a single file under a name that holds its digest; raises PluginError with the line that failed."""
    name = f"andrea_file_{path.stem}_{file_digest(path)[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: postponed annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # SystemExit too: a plugin that ends the program at import is no success
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise PluginError(f"the plugin file {path} failed to load: {_one_line(error)}") from error
    return module


def _register(manager: pluggy.PluginManager, module: ModuleType, plugin: ActivePlugin) -> None:
    try:
        name = manager.register(module, plugin.name)
        manager.check_pending()
    except Exception as error:
        raise PluginError(f"plugin {plugin.name} ({plugin.origin}) cannot be registered: {_one_line(error)}") from error
    if not manager.get_hookcallers(module):
        raise PluginError(
            f"plugin {name} ({plugin.origin}) registers nothing; decorate a function named andrea_policies, "
            "andrea_rewards, ... with @hookimpl"
        )


def _table(manager: pluggy.PluginManager, kind: str, active: Mapping[str, ActivePlugin]) -> dict[str, Registration]:
    table: dict[str, Registration] = {}
    hook = getattr(manager.hook, f"andrea_{kind}")
    for implementation in hook.get_hookimpls():
        plugin = active[implementation.plugin_name]
        for name, cls in _registered(kind, implementation.function, plugin).items():
            _check_class(kind, name, cls, plugin)
            if name in table:
                raise PluginError(
                    f"two plugins register the {SINGULAR[kind]} {name!r}: {table[name].origin} and {plugin.origin}; "
                    "rename one of them"
                )
            table[name] = Registration(kind, name, cls, plugin.name, plugin.origin)
    return dict(sorted(table.items()))


def _registered(kind: str, hook: Callable[[], Any], plugin: ActivePlugin) -> Mapping[str, Any]:
    """Return what a plugin's hook returns, if that is a table from names to classes."""
    where = f"the hook andrea_{kind} of plugin {plugin.name} ({plugin.origin})"
    try:
        found = hook()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"{where} failed: {_one_line(error)}") from error
    if not isinstance(found, Mapping):
        raise PluginError(f'{where} must return a table such as {{"name": Class}}, got {shown(found)}')
    for name in found:
        if not isinstance(name, str) or not name.strip() or has_unprintable(name):
            raise PluginError(f"{where} must name its classes by texts, got {shown(name)}")
    return found


def _check_class(kind: str, name: str, cls: Any, plugin: ActivePlugin) -> None:
    where = f"the {SINGULAR[kind]} {name!r} of plugin {plugin.name} ({plugin.origin})"
    if not isinstance(cls, type) or not attrs.has(cls):
        raise PluginError(f"{where} is no attrs class; decorate it with @attrs.frozen")
    methods = [
        method for method in vars(KINDS[kind]) if not method.startswith("_") and callable(vars(KINDS[kind])[method])
    ]
    missing = [method for method in methods if not callable(getattr(cls, method, None))]
    if missing:
        raise PluginError(f"{where} lacks {', '.join(missing)}; see andrea_core.contracts.{KINDS[kind].__name__}")


def _one_line(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} (line {error.lineno} of {error.filename})"
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    place = f" (line {frames[-1].tb_lineno} of {frames[-1].tb_frame.f_code.co_filename})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"

"""Settings to attrs classes and back: strict types, components by name, and every error with its place."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_origin

import attrs
from cattrs import ClassValidationError, Converter, IterableValidationError, StructureHandlerNotFoundError
from cattrs.cols import homogenous_tuple_structure_factory, mapping_structure_factory
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from andrea_core.plugins import KINDS, Catalogue
from andrea_core.spelling import nearest, shown

_KIND_OF = {protocol: kind for kind, protocol in KINDS.items()}
SLOT, BESIDE = "andrea.slot", "andrea_beside"


@attrs.frozen
class Problem:
    """One thing wrong with a scenario: the path of keys to it, and what is wrong."""

    path: tuple[str, ...]
    message: str


def component_slot() -> Any:
    """Return the field of a settings class that holds the component itself; its keys stand beside the class's own."""
    return attrs.field(metadata={SLOT: True})


def converter(catalogue: Catalogue) -> Converter:
    """Return a converter that knows a catalogue's components; unknown keys and wrong types are errors."""
    made = Converter(forbid_extra_keys=True, detailed_validation=True)
    for kind in (int, float, bool, str):
        made.register_structure_hook(kind, _strict)
    made.register_structure_hook_factory(_is_list, lambda kind: _list(made, kind))
    made.register_structure_hook_factory(_is_mapping, lambda kind: _mapping(made, kind))
    made.register_structure_hook_func(_is_component, lambda data, kind: _component(made, catalogue, data, kind))
    made.register_structure_hook_func(_has_slot, lambda data, kind: _slotted(made, data, kind))
    made.register_structure_hook_factory(_is_settings, lambda kind: _table(made, kind))
    made.register_unstructure_hook_func(_is_component, lambda value: made.unstructure(value, type(value)))
    made.register_unstructure_hook_func(_has_slot, lambda value: _flat(made, value))
    made.register_unstructure_hook_factory(_is_settings, lambda kind: _plain(made, catalogue, kind))
    return made


def problems(error: BaseException, path: tuple[str, ...] = (), cls: type | None = None) -> list[Problem]:
    """Return every problem in an exception that structuring raised, each with its place."""
    if isinstance(error, (ClassValidationError, IterableValidationError)):
        found = []
        for child in error.exceptions:
            notes = [note for note in getattr(child, "__notes__", ()) if type(note) is not str]
            made = error.cl if isinstance(error, ClassValidationError) and not notes else None
            found += problems(child, (*path, *(_place(note) for note in notes)), made)
        return found
    if isinstance(error, ForbiddenExtraKeysError):
        valid = [f.alias for f in attrs.fields(error.cl) if not f.metadata.get(SLOT)]
        valid += getattr(error, BESIDE, ())
        return [
            Problem((*path, key), f"unknown key {key!r}{nearest(key, valid)}") for key in sorted(error.extra_fields)
        ]
    if isinstance(error, KeyError):
        return [Problem(path, f"the key {error.args[0] if error.args else ''!r} is missing")]
    if isinstance(error, StructureHandlerNotFoundError):
        return [Problem(path, f"cannot be given in a scenario ({error})")]
    text = str(error)
    if cls is not None and (field := text.split(" ")[0].split(".")[0]) in {f.alias for f in attrs.fields(cls)}:
        return [Problem((*path, field), text)]  # a validator names its field first
    if isinstance(error, TypeError) and "missing" in text and "argument" in text:
        return [Problem(path, f"the key {text.rpartition(':')[2].strip()} is missing")]
    return [Problem(path, text)]


def _place(note: Any) -> str:
    if isinstance(note, AttributeValidationNote):
        return note.name
    if isinstance(note, IterableValidationNote):
        return f"[{note.index}]" if isinstance(note.index, int) else str(note.index)
    return str(note)


def _strict(value: Any, kind: type) -> Any:
    if type(value) is int and kind in (int, float) and not -(2**63) <= value < 2**63:
        raise TypeError(f"must fit into 64 bits, got {shown(value)}")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
        raise TypeError(f"must be {words[kind]}, got {shown(value)}")
    if isinstance(value, str):
        _refuse_unwritable(value)
    return value


def _refuse_unwritable(text: str) -> None:
    """Refuse what no file can be named and no UTF-8 can hold: NUL and lone surrogates."""
    if "\0" in text:
        raise TypeError(f"must hold no NUL character, got {shown(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TypeError(f"must be valid Unicode, got {shown(text)}; write it as UTF-8") from error


def _is_component(kind: Any) -> bool:
    return (get_origin(kind) or kind) in _KIND_OF


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) in (dict, Mapping)


def _is_settings(kind: Any) -> bool:
    return attrs.has(get_origin(kind) or kind) and not _has_slot(kind)


def _has_slot(kind: Any) -> bool:
    return attrs.has(kind) and any(field.metadata.get(SLOT) for field in attrs.fields(kind))


def _list(made: Converter, kind: Any) -> Any:
    """Structure a list; a single text is not taken apart into its letters."""
    inner = homogenous_tuple_structure_factory(kind, made)

    def structure(data: Any, _kind: Any) -> Any:
        if not isinstance(data, list | tuple):
            raise TypeError(f"must be a list, got {shown(data)}")
        return inner(data, kind)

    return structure


def _mapping(made: Converter, kind: Any) -> Any:
    """Structure a table of named things; say so when something else than a table stands there."""
    inner = mapping_structure_factory(kind, made, detailed_validation=True)

    def structure(data: Any, cls: Any) -> Any:
        if not isinstance(data, Mapping):
            raise TypeError(f"must be a table, got {shown(data)}")
        return inner(data, cls)

    return structure


def _table(made: Converter, kind: Any) -> Any:
    """Structure a settings class; say so when something else than a table stands there."""
    inner = make_dict_structure_fn(kind, made, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True)

    def structure(data: Any, cls: Any) -> Any:
        if not isinstance(data, Mapping):
            raise TypeError(f"must be a table, got {shown(data)}")
        return inner(data, cls)

    return structure


def _component(made: Converter, catalogue: Catalogue, data: Any, kind: Any) -> Any:
    name = _KIND_OF[get_origin(kind) or kind]
    if not isinstance(data, Mapping) or not isinstance(data.get("use"), str):
        choice = ", ".join(catalogue.table[name])
        raise TypeError(f'must be a table with use = "..." (one of {choice}), got {shown(data)}')
    cls = catalogue.get(name, data["use"])
    return made.structure({key: value for key, value in data.items() if key != "use"}, cls)


def _slotted(made: Converter, data: Any, kind: Any) -> Any:
    """Structure a class whose component's keys stand beside its own."""
    if not isinstance(data, Mapping):
        raise TypeError(f"must be a table, got {shown(data)}")
    slot = next(field for field in attrs.fields(kind) if field.metadata.get(SLOT))
    own = {f.name: f for f in attrs.fields(kind) if f is not slot}
    with _beside(own):
        component = made.structure({key: value for key, value in data.items() if key not in own}, slot.type)
    values, wrong = {}, []
    for key, field in own.items():
        if key in data:
            try:
                values[key] = made.structure(data[key], field.type)
            except Exception as error:
                error.__notes__ = [AttributeValidationNote(f"{key}", key, field.type)]
                wrong.append(error)
    if wrong:
        raise ClassValidationError("wrong settings", wrong, kind)
    try:
        return kind(**{slot.name: component}, **values)
    except ValueError as error:
        raise ClassValidationError("wrong settings", [error], kind) from error


@contextmanager
def _beside(keys: Collection[str]) -> Iterator[None]:
    """Let the message on an unknown key of a component know the keys that stand beside its own."""
    try:
        yield
    except ClassValidationError as error:
        for one in error.exceptions:
            if isinstance(one, ForbiddenExtraKeysError):
                setattr(one, BESIDE, tuple(keys))
        raise


def _flat(made: Converter, value: Any) -> Any:
    slot = next(field for field in attrs.fields(type(value)) if field.metadata.get(SLOT))
    data = dict(made.unstructure(getattr(value, slot.name)))
    for field in attrs.fields(type(value)):
        held = getattr(value, field.name)
        if field is not slot and held is not None:
            data[field.name] = made.unstructure(held)
    return data


def _plain(made: Converter, catalogue: Catalogue, kind: Any) -> Any:
    """Unstructure a settings class, with `use` in front where it is a registered component; None is left out."""
    registered = [r for table in catalogue.table.values() for r in table.values() if r.cls is kind]
    optional = {f.name: override(omit=False) for f in attrs.fields(kind)}
    inner = make_dict_unstructure_fn(kind, made, **optional)  # type: ignore[arg-type]

    def unstructure(value: Any) -> dict[str, Any]:
        data = {key: _listed(item) for key, item in inner(value).items() if item is not None}
        return {"use": registered[0].name, **data} if registered else data

    return unstructure


def _listed(item: Any) -> Any:
    """Return tuples as lists, which is what TOML has."""
    return [_listed(one) for one in item] if isinstance(item, tuple | list) else item

"""Plugin state as data: a tree of attrs classes, tuples, dicts, arrays and plain values, split into arrays and JSON."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_type_hints

import attrs
import numpy as np

from andrea_core.errors import PluginError

Arrays = dict[str, np.ndarray[Any, Any]]
_PLAIN = (bool, int, float, str, type(None))
_LARGEST = 8192  # bits of an int: Python reads no number of more than 4,300 digits back


def flatten(tree: Any, path: str, arrays: Arrays) -> Any:
    """Return the tree as JSON values; its arrays are put into `arrays` under their path in the tree.

    Raises PluginError, naming the place, for anything that a state may not hold.
    """
    if isinstance(tree, np.ndarray) and _storable(tree.dtype):
        arrays[path] = np.ascontiguousarray(tree)
        return {"array": path, "shape": list(tree.shape)}
    if isinstance(tree, np.generic) and _storable(tree.dtype):
        return {"scalar": tree.item(), "dtype": str(tree.dtype)}
    if attrs.has(type(tree)):
        fields = {f.name: flatten(getattr(tree, f.name), f"{path}.{f.name}", arrays) for f in attrs.fields(type(tree))}
        return {"class": _name(type(tree)), "fields": fields}
    if type(tree) is tuple:
        return {"tuple": [flatten(item, f"{path}.{index}", arrays) for index, item in enumerate(tree)]}
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return {"dict": {key: flatten(item, f"{path}.{key}", arrays) for key, item in tree.items()}}
    if type(tree) in _PLAIN and not (type(tree) is int and tree.bit_length() > _LARGEST):
        return tree
    raise PluginError(
        f"{path} holds {_kind(tree)}, which no checkpoint can keep; "
        "a state is made of attrs classes, plain tuples, dicts with text keys, "
        "numpy arrays of numbers, int, float, bool, str and None"
    )


def _kind(tree: Any) -> str:
    return f"an array of {tree.dtype}" if isinstance(tree, np.ndarray) else f"a {type(tree).__name__}"


def prove(tree: Any, template: Any, path: str) -> None:
    """Raise PluginError unless a tree comes back from a checkpoint as it is: better at once than at a resume."""
    arrays: Arrays = {}
    data = flatten(tree, path, arrays)
    again: Arrays = {}
    if flatten(restore(data, arrays, template), path, again) != data or any(
        arrays[key].tobytes() != again[key].tobytes() for key in arrays
    ):
        raise PluginError(
            f"{path} does not come back from a checkpoint as it was; build it of attrs classes and arrays"
        )


def restore(data: Any, arrays: Mapping[str, np.ndarray[Any, Any]], template: Any) -> Any:
    """Return the tree that `flatten` took apart; `template`, a fresh start state, supplies the attrs classes."""
    return _restore(data, arrays, dict(_classes(template, set())))


def _restore(data: Any, arrays: Mapping[str, np.ndarray[Any, Any]], classes: Mapping[str, type]) -> Any:
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return np.array(arrays[data["array"]]).reshape(data["shape"])  # a copy: the file's pages must not back a state
    if "scalar" in data:
        return np.dtype(data["dtype"]).type(data["scalar"])
    if "tuple" in data:
        return tuple(_restore(item, arrays, classes) for item in data["tuple"])
    if "dict" in data:
        return {key: _restore(item, arrays, classes) for key, item in data["dict"].items()}
    if data["class"] not in classes:
        raise PluginError(f"the checkpoint holds a {data['class']}, which the plugin's start state does not know")
    cls: Any = classes[data["class"]]
    fields = {key: _restore(item, arrays, classes) for key, item in data["fields"].items()}
    state = cls.__new__(cls)
    for key, item in fields.items():
        object.__setattr__(state, key, item)
    return state


def _classes(value: Any, seen: set[type]) -> Iterator[tuple[str, type]]:
    """Yield every attrs class in a start state, and those that its annotations allow but it does not hold yet."""
    if isinstance(value, tuple):
        for item in value:
            yield from _classes(item, seen)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _classes(item, seen)
    elif attrs.has(type(value)):
        yield from _classes_of_type(type(value), seen)
        for field in attrs.fields(type(value)):
            yield from _classes(getattr(value, field.name), seen)


def _classes_of_type(kind: Any, seen: set[type]) -> Iterator[tuple[str, type]]:
    for argument in get_args(kind):
        yield from _classes_of_type(argument, seen)
    if isinstance(kind, type) and attrs.has(kind) and kind not in seen:
        seen.add(kind)
        yield _name(kind), kind
        for hint in _hints(kind):
            yield from _classes_of_type(hint, seen)


def _storable(dtype: np.dtype[Any]) -> bool:
    """Return whether JSON and safetensors keep an array of this kind: real numbers of up to 8 bytes, and booleans."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8 and dtype.fields is None


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _hints(kind: type) -> list[Any]:
    try:
        return list(get_type_hints(kind).values())
    except NameError:  # an annotation that only a type checker can resolve
        return []

"""Graph: which source helps which, as a matrix or as a table of edges, checked and turned into numbers."""

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from andrea_core import ScenarioError, Sources, Vector, by_source, source_names

Edges = Mapping[str, Mapping[str, float]]
Rows = tuple[tuple[float, ...], ...]


def edges() -> Any:
    """Return a field for a table `source = { other = number }`: how much training on a source helps another one."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Edges) -> None:
        for source, row in value.items():
            _refuse_infinite(row.values(), f"{attribute.name}.{source}")

    return source_names(default=attrs.Factory(dict), validator=check)


def rows() -> Any:
    """Return a field for a square matrix of finite numbers, its rows and columns in the scenario's order of sources."""

    def check(_instance: Any, attribute: "attrs.Attribute[Any]", value: Rows) -> None:
        for row in value:
            if len(row) != len(value):
                raise ValueError(
                    f"{attribute.name} must be square, got {len(value)} rows and one of {len(row)} numbers"
                )
            _refuse_infinite(row, attribute.name)

    return attrs.field(default=(), validator=check)


def matrix_of(graph: Edges, matrix: Rows, sources: Sources, where: str) -> Vector:
    """Return A (K, K): the matrix, or 1 on the diagonal and the edges off it; entry (i, j): how i helps j.

    Raises ScenarioError for an unknown source or a matrix of another size.
    """
    if matrix:
        if len(matrix) != len(sources):
            raise ScenarioError(f"{where}, matrix: {len(matrix)} rows for {len(sources)} sources; give one a source")
        return np.array(matrix, np.float64)
    by_source(dict.fromkeys(graph, 0.0), sources, f"{where}, graph")
    made = np.eye(len(sources))
    for name, row in graph.items():
        given = by_source(row, sources, f"{where}, graph.{name}")
        named = [sources.index(other) for other in row]
        made[sources.index(name), named] = given[named]
    return made


def helped(graph: Edges, matrix: Rows, sources: Sources, where: str, losses: Vector) -> Vector:
    """Return A @ losses (K,) for the A of `matrix_of`; a graph's zeros are never held, so that K may be large."""
    if matrix:
        return np.asarray(matrix_of(graph, matrix, sources, where) @ losses)
    by_source(dict.fromkeys(graph, 0.0), sources, f"{where}, graph")
    sums = np.array(losses)
    for name, row in graph.items():
        edges_of = {name: 1.0, **row}
        given = by_source(edges_of, sources, f"{where}, graph.{name}")
        named = [sources.index(other) for other in edges_of]
        sums[sources.index(name)] = given[named] @ losses[named]
    return sums


def _refuse_infinite(values: Any, name: str) -> None:
    for value in values:
        if not np.isfinite(value):
            raise ValueError(f"{name} must hold finite numbers, got {value!r}")

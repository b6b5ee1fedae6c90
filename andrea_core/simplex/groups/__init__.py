"""Disjoint group bounds: exact geometry of a region whose sources are also bound in groups."""

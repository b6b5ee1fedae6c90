"""Rows, any linear bounds: approximate geometry of a region cut by hyperplanes of every direction."""

"""Dtypes, shapes, extents that are not known: all that is said of a value without the value."""

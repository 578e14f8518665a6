"""Dtypes, shapes and unknown extents: the abstract description of values."""

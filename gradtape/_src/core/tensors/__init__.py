"""Tensors, variables, nests of them, and conversions to them."""

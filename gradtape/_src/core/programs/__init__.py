"""Ops, Programs, and the journal of what was called."""

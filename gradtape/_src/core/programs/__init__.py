"""Ops, Programs, and the journal of events."""

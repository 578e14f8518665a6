"""Errors, names, the state of a thread, and hooks for the floors above: all that knows no value."""

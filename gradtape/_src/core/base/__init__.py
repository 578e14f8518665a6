"""Errors, names, the state of a thread, and hooks for the floors above; nothing here depends on values."""

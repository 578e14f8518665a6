"""The door through which each op goes, and the runs of what was recorded."""

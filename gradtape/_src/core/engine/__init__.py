"""The entry point of all ops, and the runs of recorded ops."""

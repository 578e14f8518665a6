"""Switches that users set."""

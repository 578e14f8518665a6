"""Switches for users."""

"""Declarations of ops, modules and type specs."""

"""Declarations of ops, modules and signatures."""

"""Figures of losses, gradients, tapes and profiles, by matplotlib."""

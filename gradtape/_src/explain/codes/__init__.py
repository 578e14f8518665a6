"""The codes of the explainer, each in one file: its finder, its sentences and its row of the documentation."""

import importlib
import pkgutil


def load() -> None:
    """Import the files of this folder, so that all codes are known."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")

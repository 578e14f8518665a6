"""The codes of the explainer: each stands in one file, with how it is found and said, and its row of the documentation."""

import importlib
import pkgutil


def load() -> None:
    """Import the files of this folder, so that all codes are known."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")

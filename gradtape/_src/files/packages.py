"""Packages that only files need (the extra `files`), imported when they are first used."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from gradtape._src.core.base.extras import missing


@functools.cache
def package(module: str, what: str) -> Any:
    """Import `module` and return it; ImportError with the way out where it is not installed. `what` begins the sentence."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need a package that is not installed. {missing('files', error)}") from error

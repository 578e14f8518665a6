"""Import on first use of packages that only files need (the extra `files`)."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from gradtape._src.core.base.extras import missing


@functools.cache
def package(module: str, what: str) -> Any:
    """Import `module`; ImportError with instructions if it is not installed. `what` begins the sentence."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need a package that is not installed. {missing('files', error)}") from error

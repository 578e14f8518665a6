"""The module `tensorflow`: gradtape's names, and TensorFlow's version."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gradtape
from gradtape._src.compat.door import version
from gradtape._src.compat.names import ON_DEMAND, ON_KERAS
from gradtape._src.core.base.public import public

# Loaded when they are asked for.
LATE = [name.removeprefix("gradtape.") for name in (*ON_KERAS, *ON_DEMAND) if name.count(".") == 1]


def fill(module: ModuleType) -> None:
    """Make `module` the module `tensorflow`. It is an object of its own: what is assigned to one of its names is seen under
    `tensorflow` alone, as TensorFlow's own code does not look there either.
    """
    names = {name: value for name, value in vars(gradtape).items() if not name.startswith("_")}

    @public
    def __getattr__(name: str) -> Any:
        value = getattr(gradtape, name)
        vars(module)[name] = value
        return value

    vars(module).update(
        names,
        __all__=sorted([*names, *LATE]),
        __compiler_version__=version.COMPILER_VERSION,
        __dir__=lambda: sorted({*vars(module), *dir(gradtape), *LATE}),
        __doc__=gradtape.__doc__,
        __file__=gradtape.__file__,
        __getattr__=__getattr__,
        __git_version__=version.GIT_VERSION,
        __version__=version.VERSION,
    )

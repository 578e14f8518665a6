"""The module `tensorflow`: gradtape's names, with TensorFlow's version."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gradtape
from gradtape._src.compat.door import version
from gradtape._src.compat.names import ON_DEMAND, ON_KERAS
from gradtape._src.core.base.public import public

# Imported on first use.
LATE = [name.removeprefix("gradtape.") for name in (*ON_KERAS, *ON_DEMAND) if name.count(".") == 1]


def fill(module: ModuleType) -> None:
    """Make `module` the module `tensorflow`.

    It is a separate object. As for TensorFlow's own code, an assignment to one of its names has no effect inside of gradtape.
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

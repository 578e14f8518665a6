"""Notes on Keras's errors about an unknown word: the most similar known one."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def note(error: BaseException, word: str, known: Iterable[str]) -> None:
    """Add the word of `known` that is most similar to `word` to an error, if there is one."""
    near = difflib.get_close_matches(word, sorted(known))
    if near:
        words = {*word.split("_")}
        best = max(near, key=lambda name: len(words & {*name.split("_")}))  # the first of equal ones is the most similar
        error.add_note(f"Did you mean {best!r} for {word!r}?")


def naming_keywords(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap an `__init__` of Keras that refuses unknown keyword arguments, so that its errors get notes on these."""

    @functools.wraps(init)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except (TypeError, ValueError) as error:
            inits = filter(inspect.isfunction, (vars(kind).get("__init__") for kind in type(self).__mro__))
            known = {name for found in inits for name in inspect.signature(found).parameters}
            for name in kwargs.keys() - known:
                note(error, name, known)
            raise

    named.__signature__ = inspect.signature(init)  # type: ignore[attr-defined]  # getfullargspec, which Keras asks, reads it
    return named

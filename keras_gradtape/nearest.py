"""Notes on errors of Keras that name a word which is misspelt: the nearest one that Keras knows."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def note(error: BaseException, word: str, known: Iterable[str]) -> None:
    """Add the word of `known` that is nearest to `word` to an error, if one is near."""
    near = difflib.get_close_matches(word, sorted(known))
    if near:
        words = {*word.split("_")}
        best = max(near, key=lambda name: len(words & {*name.split("_")}))  # of equal ones the first, which is the nearest
        error.add_note(f"Did you mean {best!r} for {word!r}?")


def naming_keywords(init: Callable[..., None]) -> Callable[..., None]:
    """Return the `__init__` of Keras's that refuses keyword arguments it does not know, with notes on those."""

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

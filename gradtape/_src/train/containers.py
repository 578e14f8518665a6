"""Lists and dicts that restore items when these are added later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradtape._src.core.declarations.module import Tracked


class AwaitingList(list[Any], Tracked):
    """A list with saved values for entries that do not exist yet. Copies of it are plain lists.

    `origin` is the original list. Entries appended to this list are appended to `origin`, too, but not the other way round.
    """

    _origin: tuple[list[Any], list[Any]]

    def __init__(self, origin: list[Any], entries: Iterable[Any]) -> None:
        super().__init__(entries)
        object.__setattr__(self, "_origin", (origin, list(origin)))

    def append(self, value: Any) -> None:
        """Append `value`, and restore it from the checkpoint."""
        super().append(value)
        for kept in self._origin:
            kept.append(value)
        self._child_set(str(len(self) - 1), value)

    def extend(self, values: Iterable[Any]) -> None:
        """Append each of `values`."""
        for value in list(values):
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> AwaitingList:  # type: ignore[misc]
        self.extend(values)
        return self

    def __repr__(self) -> str:
        return f"ListWrapper({super().__repr__()})"  # TensorFlow's name of the class

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def changed_elsewhere(self) -> bool:
        """Return whether the original list was changed through another reference."""
        origin, known = self._origin
        return list(map(id, origin)) != list(map(id, known))


class AwaitingDict(dict[Any, Any], Tracked):
    """A dict with saved values for keys that do not exist yet. Copies of it are plain dicts."""

    _origin: tuple[dict[Any, Any], dict[Any, Any]]

    def __init__(self, origin: dict[Any, Any], entries: dict[Any, Any]) -> None:
        super().__init__(entries)
        object.__setattr__(self, "_origin", (origin, dict(origin)))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        for kept in self._origin:
            kept[key] = value
        self._child_set(str(key), value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`, which is set to `default` if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set each item of a dict, or of pairs, and of the keywords."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other: Any) -> AwaitingDict:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def changed_elsewhere(self) -> bool:
        """Return whether the original dict was changed through another reference."""
        origin, known = self._origin
        return {key: id(value) for key, value in origin.items()} != {key: id(value) for key, value in known.items()}


def awaiting(value: Any) -> Any:
    """Replace the plain lists and dicts in `value`, also those in tuples, by ones that await saved items."""
    if type(value) is list:
        return AwaitingList(value, [awaiting(item) for item in value])
    if type(value) is dict:
        return AwaitingDict(value, {key: awaiting(item) for key, item in value.items()})
    if isinstance(value, tuple):
        items = [awaiting(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def hanging(owner: Tracked, name: str) -> Any:
    """Return the child of an object under a name, or None."""
    return vars(_holder(owner, name)).get(name) if not isinstance(owner, (list, dict)) else owner[_place(owner, name)]


def hang(owner: Tracked, name: str, value: Any) -> None:
    """Replace the child of an object under a name by `value`."""
    if isinstance(owner, list):
        list.__setitem__(owner, _place(owner, name), value)
    elif isinstance(owner, dict):
        dict.__setitem__(owner, _place(owner, name), value)
    else:
        object.__setattr__(_holder(owner, name), name, value)


def _holder(owner: Any, name: str) -> Any:
    """Return the object that has the attribute, which may be the root of a checkpoint."""
    root = vars(owner).get("_root")
    return owner if name in vars(owner) or root is None else root


def _place(owner: Any, name: str) -> Any:
    return int(name) if isinstance(owner, list) else next(key for key in owner if str(key) == name)

"""TensorFlow's dictionaries and sets that compare by identity, for lists and variables, which have no hash."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are compared by identity."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Callable[[], Any], Any]] = {}

    def _hold(self, key: Any) -> Callable[[], Any]:
        return lambda: key

    def __getitem__(self, key: Any) -> Any:
        if id(key) not in self._entries:
            raise KeyError(key)
        return self._entries[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[id(key)] = self._hold(key), value

    def __delitem__(self, key: Any) -> None:
        if self._entries.pop(id(key), None) is None:
            raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        keys = [held() for held, _ in self._entries.values()]
        return (key for key in keys if key is not None)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.items())!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """An ObjectIdentityDictionary with weak keys."""

    def _hold(self, key: Any) -> Callable[[], Any]:
        entries, number = self._entries, id(key)
        return weakref.ref(key, lambda _: entries.pop(number, None))


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose members are compared by identity."""

    _kind: type[ObjectIdentityDictionary] = ObjectIdentityDictionary

    def __init__(self, members: Iterable[Any] = ()) -> None:
        self._members = self._kind()
        self.update(members)

    def __contains__(self, member: object) -> bool:
        return member in self._members

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"

    def add(self, value: Any) -> None:
        self._members[value] = None

    def discard(self, value: Any) -> None:
        self._members.pop(value, None)

    def update(self, items: Iterable[Any]) -> None:
        for item in items:
            self.add(item)

    def intersection(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """Return the set of the members that are among `items`."""
        return type(self)(item for item in items if item in self)

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """Return the set of the members that are not among `items`."""
        removed = type(self)(items)
        return type(self)(member for member in self if member not in removed)


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """An ObjectIdentitySet with weak references to its members."""

    _kind = ObjectIdentityWeakKeyDictionary

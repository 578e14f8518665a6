"""The registry of gradients by op type, which libraries read and change: `tensorflow.python.framework.ops`."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, MutableMapping
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.programs import op as core


class RegistryEntry(MutableMapping[str, Any]):
    """The live entry of a name: its gradient function as "type", and its place of registration as "location"."""

    def __init__(self, name: str) -> None:
        self._name = name

    @public
    def __getitem__(self, key: str) -> Any:
        if key == "type":
            return core.gradient_named(self._name)[0]
        if key == "location":
            return core.registered.get(self._name, (None, "gradtape itself"))[1]
        raise KeyError(key)

    @public
    def __setitem__(self, key: str, value: Any) -> None:
        if key == "type":
            core.replace_gradient(self._name, value, self["location"])

    @public
    def __delitem__(self, key: str) -> None:
        raise TypeError(f"The entry of a gradient has its 'type' and 'location': {key!r} cannot be deleted.")

    def __iter__(self) -> Iterator[str]:
        return iter(("type", "location"))

    def __len__(self) -> int:
        return 2


class Entries(MutableMapping[str, Any]):
    """The entries of all names: types of ops, and names for `gradient_override_map`.

    Setting "type" changes the gradient of every op of that type. Setting the original one again undoes this.
    """

    @public
    def __getitem__(self, name: str) -> RegistryEntry:
        if name in self:
            return RegistryEntry(name)
        raise KeyError(name)

    @public
    def __setitem__(self, name: str, entry: Any) -> None:
        core.replace_gradient(name, entry["type"], str(entry.get("location", "unknown")))

    @public
    def __delitem__(self, name: str) -> None:
        self[name]
        core.remove_gradient(name)

    def __contains__(self, name: object) -> bool:
        return name in core.registered or ((op := core.of_tensorflow(str(name))) is not None and op.in_registry)

    def __iter__(self) -> Iterator[str]:
        return filter(self.__contains__, dict.fromkeys((*core.ops, *core.registered)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class GradientRegistry:
    """The registry of gradients, in TensorFlow's interface."""

    def __init__(self) -> None:
        self._registry = Entries()

    @public
    def register(self, candidate: Any, name: str | None = None) -> None:
        """Register a gradient function, by default under its own name."""
        core.RegisterGradient(name or candidate.__name__)(candidate)

    def list(self) -> KeysView[str]:
        """Return the names."""
        return self._registry.keys()

    @public
    def lookup(self, name: str) -> Any:
        """Return the gradient function of a name; LookupError if it has none."""
        return core.gradient_named(name)[0]

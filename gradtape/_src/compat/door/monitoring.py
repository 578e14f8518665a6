"""Counters and gauges for libraries: `tensorflow.python.eager.monitoring`. No data are sent."""

from __future__ import annotations

from typing import Any


class Cell:
    """The value for one combination of labels."""

    def __init__(self, initial: Any) -> None:
        self._value = initial

    def value(self) -> Any:
        """Return the value."""
        return self._value

    def set(self, value: Any) -> None:
        """Set the value of a gauge."""
        self._value = value

    def increase_by(self, value: int) -> None:
        """Add to the value of a counter."""
        self._value += value


class Metric:
    """Cells by label values."""

    _initial: Any = 0

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self._name, self._labels = name, labels
        self._cells: dict[tuple[str, ...], Cell] = {}

    def get_cell(self, *labels: str) -> Cell:
        """Return the cell for the values of the labels."""
        if len(labels) != len(self._labels):
            raise ValueError(f"The {self._name} expects taking {len(self._labels)} labels, received {len(labels)}: {labels}.")
        return self._cells.setdefault(labels, Cell(self._initial))


class Counter(Metric):
    """A count."""


class IntGauge(Metric):
    """An integer."""


class StringGauge(Metric):
    """A text."""

    _initial = ""


class BoolGauge(Metric):
    """A bool."""

    _initial = False

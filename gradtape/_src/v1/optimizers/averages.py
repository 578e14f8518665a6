"""`ExponentialMovingAverage`: moving averages of variables."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.math.arithmetic import minimum
from gradtape._src.ops.math.elementary import pow as power
from gradtape._src.v1.graphs.collections import GraphKeys, global_variables, moving_average_variables, trainable_variables
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.graphs.names import NameScope
from gradtape._src.v1.optimizers.first import shadow


class ExponentialMovingAverage:
    """Moving averages of variables: `shadow −= (1 − decay) · (shadow − variable)` at each `apply`.

    With `num_updates`, the decay is at most (1 + num_updates) / (10 + num_updates). The average of a variable starts with its
    value. That of a tensor starts with zeros, a bias that `zero_debias` removes by division.

    >>> average, w = tf.train.ExponentialMovingAverage(0.5), tf.Variable(2.0)
    >>> average.apply([w])
    >>> _ = w.assign(4.0)
    >>> average.apply([w])
    >>> print(average.average(w).numpy())
    3.0
    """

    @public
    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._shadows: dict[Any, Variable] = {}
        self._biased: dict[Any, tuple[Variable, Variable]] = {}  # by tensor: the biased average, and the count

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @public
    def apply(self, var_list: Any = None) -> Any:
        """Update the averages of `var_list` (default: all trainable variables); in a graph return an Operation."""
        graph = in_graph()
        wanted = list(map(variable_of, trainable_variables() if var_list is None else var_list))
        for value in wanted:
            if not isinstance(value, Variable) and graph is None and engine.local.trace.scope is None:
                raise TypeError(f"In eager code an average is one of a variable, received {value!r}.")
            if not value.dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {value.name} is {value.dtype}.")
        with scopes.init_scope():  # a branch in a graph may be the first to use it
            for value in wanted:
                if self._key(value) not in self._shadows:
                    self._shadows[self._key(value)] = self._made(value)
        with NameScope(f"{scopes.prefix()}{self._name}/"):
            moved = self._moved(wanted)
        return None if graph is None else graph.group(moved, self._name)

    def _moved(self, wanted: Any) -> list[Any]:
        decay: Any = self._decay
        if self._num_updates is not None:
            updates = cast(self._num_updates, "float32")
            decay = minimum(tensor(decay, "float32"), (1.0 + updates) / (10.0 + updates))
        moved = []
        for value in wanted:
            average = self._shadows[self._key(value)]
            rate = 1.0 - (cast(decay, average.dtype) if isinstance(decay, (Tensor, Stored)) else decay)
            moved.append(_moved(average, value, rate, self._biased.get(self._key(value))))
        return moved

    def _made(self, value: Any) -> Variable:
        graph = in_graph()
        initial = zeros(extents_of(value), value.dtype)
        if isinstance(value, Variable):
            initial = value.read_value() if graph is None else graph.variable_attribute(value, "initial_value")
        made = shadow(value.name, self._name, initial)
        if graph is not None and isinstance(value, Variable):
            graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
        if self._zero_debias and not isinstance(value, Variable):
            self._biased[self._key(value)] = _parts(made)
        return made

    @staticmethod
    def _key(value: Any) -> Any:
        return value._uid if isinstance(value, Variable) else ("tensor", id(value.node))

    @public
    def average(self, var: Any) -> Variable | None:
        """Return the variable with the average of `var`, or None."""
        return self._shadows.get(self._key(variable_of(var)))

    @public
    def average_name(self, var: Any) -> str:
        """Return the name of the variable with the average of `var`."""
        return f"{var.name.rpartition(':')[0]}/{self._name}"

    @public
    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Variable]:
        """Return variables by name, for a `Saver` that restores averages into variables.

        The name is that of the average for `moving_avg_variables` (default: all trainable variables, and those with averages),
        else the variable's own.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        named = {self.average_name(variable): variable for variable in moving_avg_variables}
        averaged = {variable.name for variable in moving_avg_variables}
        for variable in global_variables():
            if variable.name not in averaged:
                named.setdefault(variable.name.removesuffix(":0"), variable)
        return named


def assign_moving_average(variable: Variable, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None) -> Any:
    """Update an average: `variable −= (1 − decay) · (variable − value)`; return the result of the assignment.

    With `zero_debias` the average starts at zero, and the variable is the average divided by the sum of its weights.
    """
    value = tensor(value, variable.dtype)
    return _moved(variable, value, 1.0 - tensor(decay, variable.dtype), _parts(variable) if zero_debias else None)


def _parts(average: Variable) -> tuple[Variable, Variable]:
    initial = zeros(average.shape, average.dtype)
    return shadow(average.name, "biased", initial), shadow(average.name, "local_step", zeros((), average.dtype))


def _moved(average: Variable, value: Any, rate: Any, parts: tuple[Variable, Variable] | None) -> Any:
    if parts is None:
        return average.assign_sub((average - value) * rate)
    biased, count = parts
    return average.assign(biased.assign_sub((biased - value) * rate) / (1.0 - power(1.0 - rate, count.assign_add(1.0))))

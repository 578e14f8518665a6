"""The common part of TensorFlow 1's optimizers: gradients of a loss, slots of variables, the operation that applies updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.eager_record import recording
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base import ambient, hooks
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import SlotOwner
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import fill, ones_like
from gradtape._src.ops.array.extents import size
from gradtape._src.ops.array.gather import scatter_rows
from gradtape._src.ops.array.select import unique, where
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.v1.graphs.collections import GraphKeys, trainable_variables
from gradtape._src.v1.graphs.gradients import gradients, listed
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.graphs.names import NameScope
from gradtape._src.v1.graphs.variable_scope import get_variable_scope, store

DENSE = ("_resource_apply_dense", "_apply_dense")  # methods by which a user's optimizer updates a variable


class Optimizer(SlotOwner):
    """Base of optimizers. A subclass defines `_resource_apply_dense(gradient, variable)` (or `_apply_dense`).

    `_resource_apply_sparse(gradient, variable, indices)` (or `_apply_sparse(slices, variable)`) handles IndexedSlices.
    `_create_slots(variables)` creates slots by `_zeros_slot`, `_prepare()` tensors of hyperparameters, and `_finish(updates,
    name_scope)` adds further updates.

    `minimize(loss)` is `compute_gradients` followed by `apply_gradients`. In a graph both record operations. In eager code `loss`
    is a function, and the variables change at once.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2
    _initial_slots: Mapping[str, float] = {}  # the slots of each variable, with the number that fills them at first

    @public
    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._name = name
        self._slots: dict[str, dict[int, Variable]] = {}
        self._more: dict[tuple[str, Any], Variable] = {}  # variables of the optimizer itself, by name and graph

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    # -- gradients

    @public
    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Update the variables (default: all trainable ones) to decrease `loss`; in a graph return an Operation.

        `global_step`, a variable, is increased by 1. ValueError if `loss` depends on none of the variables.
        """
        with ambient.anew():
            pairs = self.compute_gradients(
                loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
            )
            variables = [v for d, v in pairs if d is not None]
            if not variables:
                reasons = hooks.gradients.reasons([v for _, v in pairs], None if callable(loss) else loss)
                raise ValueError(
                    "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                    f"variables {[str(v) for _, v in pairs]} and loss {loss}.{reasons}"
                )
            return self.apply_gradients(pairs, global_step, name)

    @public
    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Return `[(gradient or None, variable), …]` of `loss`, for the trainable variables or those in `var_list`."""
        if gate_gradients not in (0, 1, 2):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not "
                f"{gate_gradients}"
            )
        if callable(loss):
            with GradientTape() as tape:
                if var_list is not None:
                    tape.watch(listed(var_list))
                value = loss()
            variables = list(tape.watched_variables()) if var_list is None else listed(var_list)
            return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))
        if not recording():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled: write "
                "`lambda: loss_of(…)`."
            )
        variables = trainable_variables() if var_list is None else listed(var_list)
        if not variables:
            raise ValueError("No variables to optimize. Make trainable variables before the loss, or give var_list.")
        found = gradients(loss, variables, grad_ys=grad_loss, aggregation_method=aggregation_method)
        return list(zip(found, variables, strict=True))

    @public
    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Update variables by `[(gradient, variable), …]`; in a graph return an Operation. `global_step` is increased by 1."""
        pairs = [(d, variable_of(v)) for d, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        for d, v in pairs:
            if d is not None and not isinstance(d, (Tensor, IndexedSlices, Stored)):
                try:
                    tensor(d)
                except TypeError:
                    raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {d!r}") from None
            if isinstance(v, Tensor):
                raise NotImplementedError(f"Trying to update a Tensor: {v}. What is trained must be a tf.Variable.")
            if not isinstance(v, Variable):
                raise TypeError(f"Variable must be a tf.Variable: {v!r}")
            if d is not None and not isinstance(d, IndexedSlices) and not any(hasattr(self, name) for name in DENSE):
                shape = extents_of(tensor(d))
                if not v.shape.is_compatible_with(shape):
                    raise invalid(
                        f"var and grad do not have the same shape{v.shape} {shape}: give a gradient of {v.name!r} that has the "
                        "shape of the variable. tf.broadcast_to makes one."
                    )
        used = [(d, v) for d, v in pairs if d is not None]
        if not used:
            reason = hooks.gradients.reasons([v for _, v in pairs])
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.{reason}")
        graph = in_graph()
        with scopes.init_scope():
            self._create_slots([v for _, v in used])
        name = name or self._name
        with NameScope(f"{scopes.prefix()}{name}/"), ambient.anew():
            self._prepare()
            updates = [u for d, v in used for u in listed(self._changed(d, v)) if u is not None]
            updates = listed(self._finish(updates, f"{name}/"))
            if graph is not None and global_step is not None:
                with graph.control_dependencies(updates):
                    updates = [global_step.assign_add(1)]
            elif global_step is not None:
                global_step.assign_add(1)
        if graph is None:
            return None
        result = graph.group(updates, name)
        train = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if all(operation is not result for operation in train):
            train.append(result)
        return result

    def _changed(self, gradient: Any, variable: Variable) -> Any:
        """Return the updates of a variable, and the projection by its constraint."""
        if variable.constraint is None:
            return self._apply(gradient, variable)
        if isinstance(gradient, IndexedSlices):
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        with control_dependencies(listed(self._apply(gradient, variable))):
            return variable.assign(variable.constraint(variable.read_value()))

    def _apply(self, gradient: Any, variable: Variable) -> Any:
        """Return the updates of a variable. Sparse gradients are made dense; `kept` keeps the slots of other rows."""
        own = self._own(gradient, variable)
        if own is not NotImplemented:
            return own
        if isinstance(gradient, IndexedSlices):
            dense = scatter_rows(tensor(gradient.values), tensor(gradient.indices), tuple(variable.aval.shape))
            rows = tensor(gradient.indices)
            count = scatter_rows(ones_like(rows, dtypes.float32), rows, (variable.aval.shape[0],))
            named = (count > 0)[(...,) + (None,) * (variable.aval.ndim - 1)]
            return self._update(variable, dense, lambda new, old: where(named, new, old))
        return self._update(variable, tensor(gradient), lambda new, old: new)

    def _own(self, gradient: Any, variable: Variable) -> Any:
        """Return the updates by a user's optimizer with TensorFlow's methods; NotImplemented for any other."""
        if isinstance(gradient, IndexedSlices):
            rows = _summed(gradient)
            if hasattr(self, "_resource_apply_sparse"):
                return self._resource_apply_sparse(rows.values, variable, rows.indices)
            return self._apply_sparse(rows, variable) if hasattr(self, "_apply_sparse") else NotImplemented
        for name in DENSE:
            if hasattr(self, name):
                return getattr(self, name)(tensor(gradient), variable)
        return NotImplemented

    # -- for subclasses

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        """Create the slots of variables that lack them."""
        for variable in variables:
            for slot in self._initial_slots:
                self._slot(variable, slot)

    def _prepare(self) -> None:
        """Create tensors of the hyperparameters."""

    def _update(self, variable: Variable, gradient: Tensor, kept: Callable[[Any, Any], Tensor]) -> Any:
        """Update a variable and its slots; `kept(new, old)` is `old` in rows that a sparse gradient lacks."""
        raise NotImplementedError

    def _finish(self, updates: list[Any], name_scope: str) -> Any:
        """Return the updates, followed by those to run after all variables have changed."""
        return updates

    # -- slots

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the slot `name` of a variable, a variable kept by the optimizer, or None."""
        return self._slots.get(name, {}).get(variable_of(var)._uid)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Return all variables kept by the optimizer."""
        graph = in_graph()
        more = [v for (_, of), v in self._more.items() if of is graph]
        slots = [v for slots in self._slots.values() for v in slots.values()]
        return sorted([*more, *slots], key=lambda v: v.name)

    def _tracked_children(self) -> dict[str, Any]:
        """Return the objects for a checkpoint: slots, numbered in the order of variables, and other variables."""
        graph = in_graph()
        slots = {f"{name}_{i}": v for name, slots in self._slots.items() for i, v in enumerate(slots.values())}
        return slots | {name: v for (name, of), v in self._more.items() if of is graph}

    def slot_to_restore(self, variable: Variable, slot: str) -> Variable | None:
        """Return the slot of this name. Eager code creates it with zeros if needed; in a graph None if it does not exist."""
        return self.get_slot(variable, slot) if in_graph() is not None else self._slot(variable, slot)

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """Return the slot of a variable, created with zeros if needed."""
        return self._slot(var, slot_name, label=op_name)

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        """Return the slot of a variable, created with `val` if needed."""
        return self._slot(var, slot_name, val, op_name)

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Variable:
        """Return a variable of the optimizer itself, created if needed."""
        return self._number(name, initial_value, colocate_with)

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Variable | None:
        """Return a variable of the optimizer itself, or None."""
        return self._more.get((name, in_graph() if graph is None else graph))

    def _call_if_callable(self, param: Any) -> Any:
        """Return a hyperparameter, calling it if it is a function."""
        return param() if callable(param) else param

    def _slot(self, variable: Variable, slot: str, initial: Any = None, label: str | None = None) -> Variable:
        """Return the slot of a variable, created with `initial` (or the number for this slot, or zeros) if needed."""
        known = self._slots.setdefault(slot, {})
        found = known.get(variable._uid)
        if found is None:
            shape = variable.aval.shape
            value = tensor(self._initial_slots.get(slot, 0.0) if initial is None else initial, variable.dtype)
            value = value if value.node.aval.shape == shape else fill(shape, value)
            found = known[variable._uid] = shadow(variable.name, label or self._name, value)
            self._child_set(f"{slot}_{len(known) - 1}", found)
            self._child_set(self.slot_place(variable, slot), found)
        return found

    def _number(self, name: str, initial: float, variable: Variable) -> Variable:
        """Return a number kept by the optimizer, such as a power of a decay."""
        key = (name, in_graph())
        found = self._more.get(key)
        if found is None:
            found = self._more[key] = Variable(initial, trainable=False, name=name, dtype=variable.dtype)
            self._child_set(name, found)
        return found


def shadow(name: str, label: str, initial: Any) -> Variable:
    """Return a variable kept for the variable of that name, in the variable scope regardless of the name scope."""
    scope, full = get_variable_scope().name, f"{name.rpartition(':')[0]}/{label}"
    if in_graph() is None:  # a graph makes names unique
        full = store().unused(full)
        store().opened(f"{scope}/{full}" if scope else full)
    with NameScope(f"{scope}/" if scope else ""):
        return Variable(initial, trainable=False, name=full)


def _summed(slices: IndexedSlices) -> IndexedSlices:
    indices, places = unique(tensor(slices.indices))
    return IndexedSlices(unsorted_segment_sum(tensor(slices.values), places, size(indices)), indices, slices.dense_shape)


def setting(value: Any, dtype: Any) -> Any:
    """Return a hyperparameter (a number, a tensor, a variable, or a function of these) in a variable's dtype."""
    value = value() if callable(value) else value
    if isinstance(value, (int, float)):
        return float(np.asarray(value, dtypes.as_dtype(dtype).numpy))  # rounded to the dtype, on which 1 - 0.999 depends
    return cast(tensor(value), dtype)

"""Keras's Variable, stored in a gradtape Variable."""

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import KerasVariable, global_state

import gradtape as tf
from gradtape._src.core.tensors.convert import node_of
from gradtape._src.core.tensors.tensor import Stored
from gradtape._src.distribute.sharding import begun
from keras_gradtape.src.distribution_lib import distribute_variable
from keras_gradtape.src.ops.core import cast, convert_to_tensor


class Variable(KerasVariable, Stored):
    """A Keras variable. In ops it is the tensor `value`; tapes see the gradtape Variable that stores it."""

    _layout: Any  # of keras.distribution, or None
    _when_initialized: Callable[[], None] | None = None  # called when a deferred initialization is complete

    def _initialize(self, value):
        if isinstance(value, tf.Variable):
            self._value = value
            return
        layout = self._layout_of(tuple(self._shape if callable(value) else value.shape))
        initial = value if callable(value) else lambda: value
        self._value = tf.Variable(
            lambda: begun(cast(initial(), self._dtype), layout),  # an initializer may have returned another dtype
            trainable=self._trainable,
            dtype=self._dtype,
            name=self._name,
            synchronization=tf.VariableSynchronization[self.synchronization.upper()],
            aggregation=tf.VariableAggregation[self.aggregation.upper()],
        )
        self._value._path = self._path  # shown by the explainer
        if layout is not None:
            distribute_variable(self._value, layout)

    def _layout_of(self, shape):
        """Return the sharding of a value of this shape; None without a distribution."""
        distribution = global_state.get_global_attribute("distribution")
        if self._layout is None and distribution is not None:
            self._shape = shape  # read by the distribution
            self._layout = distribution.get_variable_layout(self)
        return getattr(self._layout, "backend_layout", self._layout)

    def _initialize_with_initializer(self, initializer):
        with tf.init_scope():  # the variable has a value from here on, even in a function under trace
            self._initialize(lambda: initializer(self._shape, dtype=self._dtype))

    def _deferred_initialize(self):
        if self._value is None:  # after an interrupt Keras starts again with the first variable
            super()._deferred_initialize()
            if self._when_initialized is not None:
                self._when_initialized()
                self._when_initialized = None

    def _direct_assign(self, value):
        self._value.assign(cast(value, self._dtype))

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype)

    @property
    def shape(self):
        """The shape, a `TensorShape`."""
        return tf.TensorShape(super().shape)

    def numpy(self):
        """The value as a NumPy array."""
        return self.value.numpy()

    def __array__(self, dtype=None, copy=None):
        return self.value.__array__(dtype, copy)

    def __iter__(self):
        return iter(self.value)

    __hash__ = object.__hash__

    # The interface of gradtape

    @property
    def variable(self):
        """The gradtape Variable with the value; in a strategy's replica that of the replica."""
        return getattr(self._value, "variable", self._value)

    def read(self):
        """Return the node of the current value, in the open autocast scope."""
        return node_of(self.value)

    def read_value(self):
        """Return the current value as a separate Tensor."""
        return tf.identity(self.value)

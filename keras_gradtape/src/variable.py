"""Keras's Variable, held in a gradtape Variable."""

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
    """A Keras variable. gradtape takes it for the tensor that `value` is, and a tape for the variable that holds it."""

    _layout: Any  # of keras.distribution, or None
    _when_initialized: Callable[[], None] | None = None  # called once there is a value, where that comes later

    def _initialize(self, value):
        if isinstance(value, tf.Variable):
            self._value = value
            return
        layout = self._layout_of(tuple(self._shape if callable(value) else value.shape))
        initial = value if callable(value) else lambda: value
        self._value = tf.Variable(
            lambda: begun(cast(initial(), self._dtype), layout),  # an initializer may have given another dtype
            trainable=self._trainable,
            dtype=self._dtype,
            name=self._name,
            synchronization=tf.VariableSynchronization[self.synchronization.upper()],
            aggregation=tf.VariableAggregation[self.aggregation.upper()],
        )
        self._value._path = self._path  # by which the explainer calls it
        if layout is not None:
            distribute_variable(self._value, layout)

    def _layout_of(self, shape):
        """The sharding of a value of this shape; None without a distribution."""
        distribution = global_state.get_global_attribute("distribution")
        if self._layout is None and distribution is not None:
            self._shape = shape  # which the distribution asks for
            self._layout = distribution.get_variable_layout(self)
        return getattr(self._layout, "backend_layout", self._layout)

    def _initialize_with_initializer(self, initializer):
        with tf.init_scope():  # in a function that is being traced, too, it has a value from here on
            self._initialize(lambda: initializer(self._shape, dtype=self._dtype))

    def _deferred_initialize(self):
        if self._value is None:  # Keras begins with the first again after an interrupt
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

    # What gradtape reads

    @property
    def variable(self):
        """The gradtape Variable that holds the value, in a strategy's replica that replica's."""
        return getattr(self._value, "variable", self._value)

    def read(self):
        """The node of the value now, as the open autocast scope has it."""
        return node_of(self.value)

    def read_value(self):
        """The value now, a Tensor of its own."""
        return tf.identity(self.value)

"""The backend's part of a Keras layer: names for its results on the tape, and its children in checkpoints."""

from typing import Any

from keras.src import tree
from keras.src.backend.common.keras_tensor import KerasTensor

import gradtape as tf
from gradtape._src.core.tensors import noted, scopes
from keras_gradtape.nearest import naming_keywords
from keras_gradtape.src.ops.core import convert_to_tensor
from keras_gradtape.src.replayed import Watched, replayed
from keras_gradtape.src.tracked import KerasTracked


class BackendLayer(Watched, KerasTracked):
    """A layer on gradtape: `tape.get_tensor_by_name("dense")` is the result of the layer of that name."""

    _convert_input_args: bool
    dtype_policy: Any
    autocast: bool
    input_dtype: Any

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if BackendLayer in cls.__bases__:  # Keras's Layer, whose `__init__` refuses keyword arguments
            cls.__init__ = naming_keywords(cls.__init__)  # type: ignore[method-assign]
            cls.__call__ = replayed(cls.__call__)  # type: ignore[method-assign]

    def __call__(self, *args, **kwargs):
        outputs = super().__call__(*args, **kwargs)  # type: ignore[misc]  # of Keras's Operation
        noted.note(scopes.prefix()[:-1], outputs)
        return outputs

    def _converted(self, value, count):
        if self._convert_input_args:
            return self.dtype_policy.convert_input(value, self.autocast, self.input_dtype)
        inputs = getattr(self, "_inputs", None)  # of a functional model
        return convert_to_tensor(value, inputs[0].dtype) if inputs is not None and len(inputs) == count == 1 else value

    @property
    def _default_save_signature(self):
        """Return the signature of a model for `tf.saved_model.save`; None for a layer, and before the first call."""
        from keras.src.models.model import Model  # imported here, as it imports this file

        if not isinstance(self, Model):
            return None
        functional = getattr(self, "_functional", None) or self  # of a Sequential
        inputs = getattr(functional, "_inputs_struct", None)
        if inputs is not None:
            specs = [tree.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), inputs)]
        else:
            shapes = (self._build_shapes_dict or {}).values()
            specs = [tree.map_shape_structure(lambda s: tf.TensorSpec(s, self.input_dtype), shape) for shape in shapes]
        if not specs:
            return None
        if not all(layer.built for layer in self._flatten_layers()):
            self(*tree.map_structure(lambda spec: KerasTensor(spec.shape, spec.dtype.name), specs))

        @tf.function(input_signature=specs)
        def serving_default(inputs):
            return self(inputs)

        return serving_default

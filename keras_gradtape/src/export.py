"""Export of a model's forward pass: `model.export`, `keras.export.ExportArchive`."""

from typing import Any

from keras.src import layers
from keras.src.export import saved_model_export_archive as archives

import gradtape as tf
from gradtape._src.control.function import Function
from gradtape._src.core.declarations.module import Tracked

KerasArchive: Any = getattr(archives, "BaseSavedModelExportArchive", None) or archives.SavedModelExportArchive  # 3.15


class SavedModelExportArchive(KerasArchive):
    """A writer of endpoints, and of the variables that they use, as a saved model of gradtape."""

    def __init__(self):
        self._endpoint_names, self._endpoint_signatures = [], {}
        self._tf_trackable = Tracked()
        self._tf_trackable.variables = []
        self._tf_trackable.trainable_variables = []
        self._tf_trackable.non_trainable_variables = []

    def track(self, resource):
        """Save the variables of a layer or model, or of a `tf.Module`, besides those that endpoints use."""
        if isinstance(resource, layers.Layer):
            if not resource.built:
                raise ValueError("The layer provided has not yet been built. It must be built before export.")
            for name in ("variables", "trainable_variables", "non_trainable_variables"):
                getattr(self._tf_trackable, name).extend(getattr(resource, name))
        elif isinstance(resource, Tracked):
            vars(self._tf_trackable).setdefault("_tracked", []).append(resource)
        else:
            raise ValueError(
                "Invalid resource type. Expected a Keras `Layer` or `Model` or a TensorFlow `Trackable` object. "
                f"Received object {resource} of type '{type(resource)}'. "
            )

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        """Add a function under a name. It needs an input signature, unless it is a `tf.function` with traces."""
        if input_signature is None and isinstance(fn, Function) and name not in self._endpoint_names:
            if not fn.all_concrete_functions():
                raise ValueError(
                    f"The provided tf.function '{fn}' has never been called. Call it once, or pass an `input_signature` argument "
                    "in `add_endpoint()`."
                )
            setattr(self._tf_trackable, name, fn)
            self._endpoint_names.append(name)
            return fn
        if input_signature is None and name not in self._endpoint_names:
            raise ValueError(
                "If the `fn` argument provided is not a `tf.function`, you must provide an `input_signature` argument to specify "
                "the shape and dtype of the function arguments, as [keras.InputSpec(shape=(None, 3), dtype='float32')]."
            )
        return super().add_endpoint(name, fn, input_signature, **kwargs)

    def _backend_add_endpoint(self, name, fn, input_signature, **kwargs):
        return tf.function(fn, input_signature=input_signature, autograph=False)

    def _convert_to_tf_variable(self, backend_variable):
        return backend_variable  # saved unchanged

    def _get_concrete_fn(self, endpoint):
        function = getattr(self._tf_trackable, endpoint)
        return function if endpoint in self._endpoint_signatures else function.all_concrete_functions()[0]

    def _filter_and_track_resources(self):
        trainable, others = self._get_variables_used_by_endpoints()
        self._tf_trackable._all_variables = [*trainable, *others]

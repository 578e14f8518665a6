"""`fit`, `evaluate`, `predict` and their kin on gradtape, with steps compiled as functions with a `GradientTape`."""

import functools
import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from keras.src import callbacks as callbacks_module, optimizers as optimizers_module, tree
from keras.src.backend import config
from keras.src.backend.common.variables import initialize_all_variables
from keras.src.metrics import Mean
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import gradtape as tf
from gradtape._src.core.base.ambient import declare_foreign
from gradtape._src.core.base.deprecation import warn_deprecated
from gradtape._src.core.engine import engine
from gradtape._src.distribute import group
from gradtape._src.ops.random import seeds
from keras_gradtape.src.data import Batches
from keras_gradtape.src.distribution_lib import distribute_batch, name_unmatched_keys
from keras_gradtape.src.least_squares import LeastSquares
from keras_gradtape.src.ops.core import COMPOSITE

# The name in Keras 3.16 and later, or the earlier one.
BaseTrainer: Any = getattr(base_trainer, "BaseTrainer", None) or base_trainer.Trainer
# Keras's scopes that may be open when a replica calls `merge_call`
declare_foreign(
    "keras.src.backend.common.global_state",
    "GLOBAL_STATE_TRACKER",
    "name_scope_stack autocast_scope stateless_scope symbolic_scope remat_scope_stack current_call_ctx",
)


class Trainer(BaseTrainer):
    """The training part of `keras.Model`.

    A step is traced once for each signature and compiled (`jit_compile`). With `jit_compile=False` or `run_eagerly=True` it is
    eager code, which is recorded and compiled piece by piece.
    """

    def __init__(self):
        super().__init__()
        self.train_function: Any = None
        self.test_function: Any = None
        self.predict_function: Any = None
        self._eval_epoch_iterator: Any = None
        self._strategy: Any = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None

    @property
    def distribute_strategy(self):
        """The `tf.distribute.Strategy` in whose scope the model was created."""
        return self._strategy or tf.distribute.get_strategy()

    # One step

    def train_step(self, data):
        """Take one training step on a batch; return the logs. Override it for custom training."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        if isinstance(self.optimizer, LeastSquares):
            y_pred = self.optimizer.train_step(self, x, y, sample_weight)
            self._tracked_loss(x, y, y_pred, sample_weight, training=True)
            return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True) if self._call_has_training_arg else self(x)
            loss = self._tracked_loss(x, y, y_pred, sample_weight, training=True)
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        if weights:
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        """Evaluate one batch; return the logs."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False) if self._call_has_training_arg else self(x)
        self._tracked_loss(x, y, y_pred, sample_weight, training=False)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def _tracked_loss(self, x, y, y_pred, sample_weight, training):
        """Compute the loss of a batch, and update the mean of the epoch."""
        try:
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training)
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            # The error came before the shapes of the loss were known.
            if self._compile_loss is not None and not self._compile_loss.built:
                raise
            labels, predictions = [tree.map_structure(lambda part: getattr(part, "shape", None), given) for given in (y, y_pred)]
            error.add_note(f"This is in the loss: the labels have the shape {labels}, what the model gives has {predictions}.")
            raise
        self._loss_tracker.update_state(loss, sample_weight=_count(x))
        return loss

    def predict_step(self, data):
        """Return the predictions for a batch."""
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self(x, training=False) if self._call_has_training_arg else self(x)

    def _function_of(self, step):
        """Compile `step` to a function of a list of batches, by the options of `compile`."""
        compiled = step
        if self._strategy is not None:
            step = functools.partial(self._in_replica, step)
        is_eager = self.run_eagerly or not self.jit_compile
        if not is_eager:
            compiled = tf.function(lambda data: step(data), autograph=False, reduce_retracing=True)

        def on_batch(data):
            logs = compiled(tree.map_structure(self._laid_out, data))
            if is_eager:
                engine.flush_if_outermost()  # raises errors here, as Keras drops those that occur when it reads the logs
            return logs

        return on_batch

    def _in_replica(self, step, data):
        return self._strategy._run_whole(step, (data,))

    def _laid_out(self, x):
        """Convert a part of a batch to a tensor, in the layout of the strategy or of `keras.distribution`."""
        batch = _tensor(x)
        if batch is None or isinstance(batch, COMPOSITE):
            return batch
        return distribute_batch(batch) if self._strategy is None else self._strategy.extended._batch(batch)

    def _make_function(self, step):
        streams: list[Any] = []

        def going_on(data):  # one trace serves batches of any size, as on TensorFlow
            seeds.go_on(streams)
            return step(data)

        on_batch = self._function_of(going_on)

        def on_batches(batches):
            for data in batches:
                logs = on_batch(data)
            return logs

        return on_batches

    def make_train_function(self, force=False):
        """Return the function that `fit` calls with a list of batches."""
        if self.train_function is None or force:
            self.train_function = self._make_function(self.train_step)
        return self.train_function

    def make_test_function(self, force=False):
        """Return the function that `evaluate` calls with a list of batches."""
        if self.test_function is None or force:
            self.test_function = self._make_function(self.test_step)
        return self.test_function

    def make_predict_function(self, force=False):
        """Return the function that `predict` calls with a list of batches."""
        if self.predict_function is None or force:
            on_batch = self._function_of(self.predict_step)

            def on_batches(batches):
                outputs = [on_batch(data) for data in batches]
                return outputs[0] if len(outputs) == 1 else tree.map_structure(lambda *parts: tf.concat(parts, 0), *outputs)

            self.predict_function = on_batches
        return self.predict_function

    def _build_for(self, batches=None, data_batch=None):
        """Create the model's variables before its step is traced, on symbols if possible."""
        initialize_all_variables()  # an interrupt may have left some uninitialized
        if self.run_eagerly:
            return
        if batches is not None:
            data_batch = batches.example()  # takes no batch of the epoch, as data may differ in the next pass
        try:
            if batches is None or data_batch is None or self.built or _has_known_rows(data_batch):
                with self.distribute_strategy.scope():
                    self._symbolic_build(iterator=batches, data_batch=data_batch)
        except Exception:  # the step builds the rest, or raises the actual error at the user's line
            pass
        if batches is not None:
            batches.reset()

    # All steps

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        """Train for `epochs` passes over the data; return the `History`."""
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn(f"Limiting epochs to {most}", stacklevel=2)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = self._batches(x, y, sample_weight, batch_size, steps_per_epoch, shuffle=shuffle, class_weight=class_weight)
        self._build_for(batches)
        name_unmatched_keys(self)
        callbacks = self._callbacks(callbacks, batches, verbose, epochs, add_history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        training_logs, logs = None, {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            for begin_step, end_step, data in batches:
                callbacks.on_train_batch_begin(begin_step)
                logs = self.train_function(data)
                callbacks.on_train_batch_end(end_step, logs)
                if self.stop_training:
                    break
            epoch_logs = dict(self._get_metrics_result_or_logs(logs))
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                epoch_logs |= self._validate(validation_data, validation_batch_size or batch_size, validation_steps, callbacks)
            callbacks.on_epoch_end(epoch, epoch_logs)
            training_logs = epoch_logs
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=training_logs)
        return self.history

    def _validate(self, data, batch_size, steps, callbacks):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = self._batches(x, y, sample_weight, batch_size, steps)
        logs = self.evaluate(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps=steps,
            callbacks=callbacks,
            return_dict=True,
            _use_cached_eval_dataset=True,
        )
        return {f"val_{name}": value for name, value in logs.items()}

    def _batches(self, x, y=None, sample_weight=None, batch_size=None, steps=None, shuffle=False, class_weight=None):
        """Return the data in batches, grouped by `steps_per_execution`."""
        return Batches(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self.steps_per_execution,
        )

    def _callbacks(self, callbacks, batches, verbose, epochs=1, **options):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks, add_progbar=verbose != 0, verbose=verbose, epochs=epochs, steps=batches.num_batches, model=self, **options
        )

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        """Return the loss and the metrics on data."""
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        batches = self._eval_epoch_iterator if cached else self._batches(x, y, sample_weight, batch_size, steps)
        self._build_for(batches)
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs = {}
        self.reset_metrics()
        for begin_step, end_step, data in batches:
            callbacks.on_test_batch_begin(begin_step)
            logs = self.test_function(data)
            callbacks.on_test_batch_end(end_step, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """Return the predictions for data, as NumPy arrays."""
        batches = self._batches(x, batch_size=batch_size, steps=steps)
        initialize_all_variables()
        callbacks = self._callbacks(callbacks, batches, verbose)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        parts = []
        for begin_step, end_step, data in batches:
            callbacks.on_predict_batch_begin(begin_step)
            outputs = self.predict_function(data)
            parts.append(tree.map_structure(np.asarray, outputs))
            if group.joined():  # callbacks read the values in a thread of Keras's, which cannot gather those of other processes
                outputs = parts[-1]
            callbacks.on_predict_batch_end(end_step, {"outputs": outputs})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(joined, *parts)

    # One batch

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """Take one training step; return the loss and the metrics."""
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch(self.make_train_function, (x, y, sample_weight), return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Return the loss and the metrics on one batch."""
        self._assert_compile_called("test_on_batch")
        return self._on_batch(self.make_test_function, (x, y, sample_weight), return_dict)

    def _on_batch(self, make_function, data, return_dict):
        data = tree.map_structure(_tensor, data)
        self._build_for(data_batch=data)
        function = make_function()
        self.reset_metrics()
        logs = pythonify_logs(function([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        """Return the predictions for one batch."""
        initialize_all_variables()
        outputs = self.make_predict_function()([(x,)])
        return tree.map_structure(lambda x: np.asarray(x)[()], outputs)

    # Methods that a train_step of older Keras calls, and that Keras has on TensorFlow only

    def compiled_loss(self, y, y_pred, sample_weight=None, regularization_losses=None):
        """Return the loss with the model's own losses. Deprecated: use `compute_loss`."""
        instead = "Use `model.compute_loss(x, y, y_pred, sample_weight, training)`."
        warn_deprecated("`model.compiled_loss()`", instead)
        return self.compute_loss(x=None, y=y, y_pred=y_pred, sample_weight=sample_weight)

    @property
    def compiled_metrics(self):
        """Return all metrics as one object with `update_state(y, y_pred, sample_weight=None)`. Deprecated: use `metrics`."""
        return SimpleNamespace(update_state=self._update_metrics)

    def _update_metrics(self, y, y_pred, sample_weight=None):
        warn_deprecated("`model.compiled_metrics`", "Call `update_state` of each of `model.metrics`.")
        for metric in self.metrics:
            values = (y_pred,) if isinstance(metric, Mean) else (y, y_pred)
            metric.update_state(*values, sample_weight=sample_weight)


def joined(*parts):
    """Concatenate the rows of all batches; as on TensorFlow, different extents give a RaggedTensor.

    Scalars are rows; that of a single batch remains a scalar.
    """
    if not parts[0].ndim:
        return np.stack(parts) if len(parts) > 1 else parts[0][()]
    shapes = [part.shape for part in parts]
    differing = [axis for axis in range(1, parts[0].ndim) if len({shape[axis] for shape in shapes}) > 1]
    if not differing:
        return np.concatenate(parts)
    ragged = range(1, differing[-1] + 1)
    flat = np.concatenate([part.reshape(-1, *part.shape[differing[-1] + 1 :]) for part in parts])
    lengths = [np.concatenate([np.full(math.prod(shape[:axis]), shape[axis]) for shape in shapes]) for axis in ragged]
    return tf.RaggedTensor.from_nested_row_lengths(flat, lengths)


def _tensor(x):
    return x if x is None or isinstance(x, COMPOSITE) else tf.convert_to_tensor(x)


def _has_known_rows(batch):
    """Return whether all extents of the inputs but the first are known, as layers create their weights from them.

    If one is unknown, the step builds the model for the first batch, as on TensorFlow.
    """
    inputs, _, _ = data_adapter_utils.unpack_x_y_sample_weight(batch)
    shapes = [tf.TensorShape(spec.shape) for spec in tree.flatten(inputs) if spec is not None]
    return all(shape.rank is not None and None not in shape.as_list()[1:] for shape in shapes)


def _count(x):
    """Return the number of rows of a batch, a tensor if the function is traced for any number."""
    first = next(leaf for leaf in tree.flatten(x) if leaf is not None)
    return tf.shape(first)[0] if first.shape[0] is None else first.shape[0]

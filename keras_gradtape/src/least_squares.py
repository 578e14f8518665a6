"""Levenberg-Marquardt for `fit`: each batch is one damped least-squares step."""

import numpy as np
from keras.src import backend, losses
from keras.src.optimizers import optimizer as optimizer_module

import gradtape as tf
from gradtape._src.core.base import hooks
from gradtape._src.optimizers.least_squares import levenberg_marquardt

FIRST, SMALLEST, LARGEST = 0.1, 1e-15, 1e15  # of the damping
SQUARED_ERRORS = ("mse", "MSE", "mean_squared_error", losses.mean_squared_error)


class LeastSquares(optimizer_module.Optimizer):
    """The result of `LevenbergMarquardt.for_keras`: a Keras optimizer whose `train_step` the trainer calls.

    The damping carries over from batch to batch. Here `damping="trust_region"` is Nielsen's rule. A step that does not reduce
    the batch's sum of squares is rejected.
    """

    def __init__(self, settings, name="levenberg_marquardt"):
        super().__init__(learning_rate=1.0, name=name)
        self.settings = settings
        self.rule = "marquardt" if settings.damping == "marquardt" else "nielsen"
        first = FIRST if settings.initial is None else settings.initial
        with backend.name_scope(self.name, caller=self):
            self.damping = self.add_variable((), "zeros", "float32", name="damping")
            self.growth = self.add_variable((), "zeros", "float32", name="growth")
        self.damping.assign(first)
        self.growth.assign(2.0)

    def train_step(self, model, x, y, sample_weight):
        """Take one step on a batch; return the model's predictions before it."""
        loss = model.loss
        if loss not in SQUARED_ERRORS and not isinstance(loss, losses.MeanSquaredError):
            raise ValueError(f"Levenberg-Marquardt minimises squared errors: compile with loss='mse', received loss={loss!r}.")
        if model.losses:
            raise ValueError("Levenberg-Marquardt minimises squared errors alone; the model has further losses (regularizers).")
        weights = model.trainable_weights
        sizes = [int(np.prod(w.shape)) for w in weights]
        before = [tf.convert_to_tensor(w) for w in weights]
        with tf.GradientTape(persistent=True) as tape:
            y_pred = model(x, training=False)
            residuals = _residuals(y_pred, y, sample_weight)
        self._check_memory(residuals.shape[0], sum(sizes))
        parts = tape.jacobian(residuals, weights, unconnected_gradients="zero")
        jacobian = tf.concat([tf.reshape(part, [residuals.shape[0], -1]) for part in parts], 1)
        step, predicted = self._solve(jacobian, residuals)
        pieces = tf.split(step, sizes)
        for weight, value, piece in zip(weights, before, pieces, strict=True):
            weight.assign(value + tf.cast(tf.reshape(piece, value.shape), value.dtype))
        after = tf.reduce_sum(tf.square(_residuals(model(x, training=False), y, sample_weight)))
        ratio = (tf.reduce_sum(tf.square(residuals)) - after) / tf.maximum(predicted, np.finfo("float32").tiny)
        taken = tf.math.is_finite(after) & (ratio > 0)
        for weight, value in zip(weights, before, strict=True):
            weight.assign(tf.where(taken, tf.convert_to_tensor(weight), value))
        self._learn(taken, tf.where(taken, tf.cast(ratio, "float32"), 0.0))
        self._iterations.assign_add(1)
        return y_pred

    def _solve(self, jacobian, residuals):
        """Return the damped step, in variables scaled by the Jacobian's column norms, and its predicted reduction."""
        columns = tf.sqrt(tf.reduce_sum(tf.square(jacobian), 0))
        scale = tf.where(columns > 0, columns, 1.0)
        scaled = jacobian / scale
        normal, gradient = tf.matmul(scaled, scaled, transpose_a=True), tf.linalg.matvec(scaled, residuals, transpose_a=True)
        damping = tf.cast(tf.convert_to_tensor(self.damping), jacobian.dtype)
        damped = normal + damping * tf.eye(gradient.shape[0], dtype=jacobian.dtype)
        step = -tf.linalg.cholesky_solve(tf.linalg.cholesky(damped), gradient[:, None])[:, 0]
        step = tf.where(tf.math.is_finite(step), step, 0.0)
        pushed = tf.linalg.matvec(scaled, step)
        predicted = -2.0 * tf.tensordot(gradient, step, 1) - tf.tensordot(pushed, pushed, 1)
        return step / scale, predicted

    def _learn(self, taken, ratio):
        damping, growth = tf.convert_to_tensor(self.damping), tf.convert_to_tensor(self.growth)
        if self.rule == "marquardt":
            new = tf.where(taken, damping / 10.0, damping * 10.0)
        else:
            less = tf.maximum(1.0 / 3.0, 1.0 - (2.0 * tf.minimum(ratio, 1.0) - 1.0) ** 3)
            new = damping * tf.where(taken, less, growth)
            self.growth.assign(tf.where(taken, 2.0, growth * 2.0))
        self.damping.assign(tf.clip_by_value(new, SMALLEST, LARGEST))

    def _check_memory(self, results, size):
        if size > levenberg_marquardt.MANY_PARAMETERS:
            raise ValueError(
                f"Levenberg-Marquardt on batches solves for all parameters at once: {size:,} are more than "
                f"{levenberg_marquardt.MANY_PARAMETERS:,}. tf.optimizers.LevenbergMarquardt().minimize() goes without the "
                f"Jacobian, which would be [{results:,}, {size:,}] here."
            )

    def get_config(self):
        raise NotImplementedError("A model that is trained by Levenberg-Marquardt is saved with include_optimizer=False.")


def _residuals(y_pred, y, sample_weight):
    """Return flat residuals; the loss is the mean of their squares."""
    errors = y_pred - tf.cast(tf.reshape(y, y_pred.shape), y_pred.dtype)
    if sample_weight is not None:
        extra = [1] * (errors.shape.rank - 1)
        errors = errors * tf.sqrt(tf.reshape(tf.cast(sample_weight, errors.dtype), [-1, *extra]))
    return tf.reshape(errors, [-1])


hooks.clients.keras_least_squares = LeastSquares

"""The backend's part of Keras's optimizers."""

import functools

from keras.src.optimizers.base_optimizer import BaseOptimizer

import gradtape as tf
from gradtape._src.core import engine, hooks
from gradtape._src.core.program import Trace
from keras_gradtape.src.ops.core import name_scope
from keras_gradtape.src.tracked import KerasTracked


def _whole(build):
    """`build`, after which an optimizer has all of its slots or, if it was interrupted, none, and can be built again."""

    @functools.wraps(build)
    def whole(self, variables):
        before, count = self.built, len(self._variables)
        try:
            with name_scope(self.name, caller=self):
                build(self, variables)
        except BaseException:
            self.built = before
            del self._variables[count:]
            raise
        self.child_set("_variables", self._variables)  # a restore may have waited for the slots
        if not before and type(self).scale_loss is not BaseOptimizer.scale_loss:
            _trace_again(self._variables)  # what was traced so far scaled the loss by a number, not by the variable

    return whole


def _trace_again(variables):
    """Let the functions under trace be traced once more, as those are that make a `tf.Variable`."""
    trace: Trace | None = engine.local.trace
    while trace is not None:
        created = getattr(trace.scope, "created", None)
        if created is not None:
            created += [variable.value for variable in variables]
        trace = trace.parent


class BackendOptimizer(BaseOptimizer, KerasTracked):
    """An optimizer on gradtape: Keras's own. IndexedSlices, which the tape gives for gathered rows, are squared and clipped by
    rows, as on TensorFlow, and become dense where they are added to something.
    """

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "build" in vars(cls):
            cls.build = _whole(cls.build)

    _COLLECTED = frozenset()

    def child_set(self, name, value):
        """Something hangs on this optimizer now. The variables that it trains are not its own to restore."""
        if name != "_trainable_variables":
            super().child_set(name, value)

    def apply(self, grads, trainable_variables=None):
        """Update `trainable_variables` by `grads`, one for each."""
        if trainable_variables and all(grad is None for grad in grads):
            trainable_variables = list(trainable_variables)
            raise ValueError(f"No gradients provided for any variable.{hooks.gradients.reasons(trainable_variables)}")
        if self.gradient_accumulation_steps or self.loss_scale_factor:
            grads = [tf.convert_to_tensor(grad) if isinstance(grad, tf.IndexedSlices) else grad for grad in grads]
        super().apply(grads, trainable_variables)

    def _clip_by_norm(self, values, axes=None):
        return tf.clip_by_norm(values, self.clipnorm, axes)

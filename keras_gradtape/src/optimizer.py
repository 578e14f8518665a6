"""The backend's part of Keras's optimizers."""

import functools

from keras.src.optimizers.base_optimizer import BaseOptimizer

import gradtape as tf
from gradtape._src.core import hooks
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

    return whole


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

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        """Update the variables; in one of several replicas by the sum of the gradients of all, once for all of them."""
        replica = tf.distribute.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            return super()._backend_update_step(grads, trainable_variables, learning_rate)
        given = [i for i, grad in enumerate(grads) if grad is not None]
        summed = dict(zip(given, replica.all_reduce("SUM", [grads[i] for i in given]), strict=True))
        step, grads = super()._backend_update_step, [summed.get(i) for i in range(len(grads))]
        return replica.merge_call(lambda _: step(grads, trainable_variables, learning_rate))

    def _clip_by_norm(self, values, axes=None):
        return tf.clip_by_norm(values, self.clipnorm, axes)

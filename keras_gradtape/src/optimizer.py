"""What Keras's optimizers have of their backend."""

from keras.src.optimizers.base_optimizer import BaseOptimizer

import gradtape as tf
from gradtape._src.autodiff.observers import reasons


class BackendOptimizer(BaseOptimizer):
    """An optimizer on gradtape: Keras's own, given dense gradients. (The tape gives IndexedSlices for gathered rows.)"""

    def apply(self, grads, trainable_variables=None):
        """Update `trainable_variables` by `grads`, one for each."""
        if trainable_variables and all(grad is None for grad in grads):
            trainable_variables = list(trainable_variables)
            raise ValueError(f"No gradients provided for any variable.{reasons(trainable_variables)}")
        super().apply([_dense(grad) for grad in grads], trainable_variables)


def _dense(grad):
    return tf.convert_to_tensor(grad) if isinstance(grad, tf.IndexedSlices) else grad

"""An optax optimizer as a Keras optimizer."""

from typing import Any

import jax
from keras.src.optimizers.optimizer import Optimizer

import gradtape as tf


class Optax(Optimizer):
    """A Keras optimizer with the updates of an optax `GradientTransformation`, for `fit` and for tape loops.

    `transformation` is a pair of functions, `init(params)` and `update(grads, state, params)`, whose updates are added to the
    parameters. It includes the learning rate, schedule and clipping. Its state is stored in variables of this optimizer, so
    that checkpoints and `.weights.h5` files contain it. `options` are Keras's for every optimizer (clipnorm, use_ema,
    gradient_accumulation_steps …). A missing gradient is taken as 0. optax is not imported here. Load a saved model with such
    an optimizer with `compile=False`.

    >>> import optax  # doctest: +SKIP
    >>> model.compile(tf.optimizers.Optax(optax.adamw(1e-3)), loss="mse")  # doctest: +SKIP
    """

    def __init__(self, transformation, name="optax", **options):
        if not (callable(getattr(transformation, "init", None)) and callable(getattr(transformation, "update", None))):
            raise TypeError(
                f"Optax takes an optax GradientTransformation, as optax.adam(1e-3); received {transformation!r} of type "
                f"{type(transformation).__name__}."
            )
        super().__init__(learning_rate=1.0, name=name, **options)
        self._transformation = transformation
        self._state: list[Any] = []
        self._step: Any = None

    def build(self, variables):
        """Create the transformation's state for these variables."""
        if self.built:
            return
        super().build(variables)
        state, structure = jax.tree.flatten(self._transformation.init([_array(v) for v in variables]))
        self._state = [
            self.add_variable(leaf.shape, initializer="zeros", dtype=leaf.dtype.name, name=f"state_{i}")
            for i, leaf in enumerate(state)
        ]
        for variable, leaf in zip(self._state, state, strict=True):
            variable.assign(leaf)
        update = self._transformation.update

        def step(grads, state, params):
            updates, new_state = update(grads, jax.tree.unflatten(structure, state), params)
            new_params = [p + u.astype(p.dtype) for p, u in zip(params, updates, strict=True)]
            return new_params, [leaf.astype(s.dtype) for leaf, s in zip(jax.tree.leaves(new_state), state, strict=True)]

        self._step = tf.jax_function(step)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        variables = self._trainable_variables
        given = {id(v): g for v, g in zip(trainable_variables, grads, strict=True)}
        params = [v.value for v in variables]
        complete = [given[id(v)] if id(v) in given else tf.zeros_like(p) for v, p in zip(variables, params, strict=True)]
        new_params, new_state = self._step(complete, [s.value for s in self._state], params)
        for variable, value in zip((*variables, *self._state), (*new_params, *new_state), strict=True):
            variable.assign(value)

    def get_config(self):
        """Return only the name, as the transformation consists of functions, which cannot be saved."""
        return {"name": self.name}


def _array(variable):
    return jax.numpy.asarray(variable.value)

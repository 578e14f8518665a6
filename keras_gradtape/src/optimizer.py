"""The backend's part of Keras's optimizers."""

import functools
from typing import Any

from keras.src.backend.common import global_state
from keras.src.backend.config import floatx
from keras.src.optimizers.base_optimizer import BaseOptimizer

import gradtape as tf
from gradtape._src.control.repeated import Repeated, may_record
from gradtape._src.core.base import hooks
from keras_gradtape.nearest import naming_keywords
from keras_gradtape.src.ops.core import name_scope
from keras_gradtape.src.replayed import Watched, known
from keras_gradtape.src.tracked import KerasTracked


def _whole(build):
    """Wrap `build`, so that after an interrupt an optimizer has none of its slots, and can be built again."""

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
        self._child_set("_variables", self._variables)  # a restore may await the slots

    return whole


def _once_a_step(apply):
    """Wrap `apply`, so that eager code records a call of its trace when a step repeats, instead of running its Python code.

    Several replicas of a strategy call it once, with the sum of their gradients. As on TensorFlow, each clips its own.
    """

    @functools.wraps(apply)
    def once(self, grads, trainable_variables=None):
        replica, grads = tf.distribute.get_replica_context(), list(grads)
        given = [i for i, grad in enumerate(grads) if grad is not None]
        if replica is None or replica.num_replicas_in_sync == 1 or not given:
            return _repeated(self, apply, grads, trainable_variables)
        if type(self).scale_loss is BaseOptimizer.scale_loss:
            grads = self._clip_gradients(grads)
        summed = dict(zip(given, replica.all_reduce("SUM", [grads[i] for i in given]), strict=True))

        def merged(_):
            limits = {name: getattr(self, name, None) for name in ("clipnorm", "global_clipnorm", "clipvalue")}
            vars(self).update(dict.fromkeys(limits))
            try:
                apply(self, [summed.get(i) for i in range(len(grads))], trainable_variables)
            finally:
                vars(self).update(limits)

        return replica.merge_call(merged)

    return once


def _repeated(optimizer, apply, grads, variables):
    """Call `apply`, or record a call of its trace if the optimizer is Keras's own, and nothing needs to see each op."""
    parts: list[Any] = []
    places: list[Any] = []
    for grad in grads:
        if isinstance(grad, tf.Tensor):
            places.append(None)
            parts.append(grad)
        elif isinstance(grad, tf.IndexedSlices) and (shape := grad.shape).is_fully_defined():
            places.append(tuple(shape.as_list()))
            parts += grad.values, grad.indices
        else:
            return apply(optimizer, grads, variables)
    variables = variables and list(variables)
    scoped = any(map(global_state.get_global_attribute, ("stateless_scope", "autocast_scope")))
    state = known(optimizer) if optimizer.built and not scoped and may_record() else None
    if state is None:
        return apply(optimizer, grads, variables)

    def code(tensors):
        left = iter(tensors)
        given = [next(left) if s is None else tf.IndexedSlices(next(left), next(left), tf.constant(s)) for s in places]
        apply(optimizer, given, variables)

    key = apply, floatx(), tuple(places), variables and tuple(map(id, variables))
    state.records.call(key, variables, code, parts)
    return None


class BackendOptimizer(BaseOptimizer, KerasTracked, Watched):
    """A Keras optimizer on gradtape.

    As on TensorFlow, IndexedSlices (gradients of gathered rows) are squared and clipped by rows, and become dense in sums.
    """

    __init__ = naming_keywords(BaseOptimizer.__init__)
    _records = Repeated

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "build" in vars(cls):
            cls.build = _whole(cls.build)
        if "apply" in vars(cls):
            cls.apply = _once_a_step(cls.apply)  # type: ignore[method-assign]

    _COLLECTED = frozenset()

    def _child_set(self, name, value):
        """Note a new child. Trained variables are not the optimizer's own to restore."""
        if name != "_trainable_variables":
            super()._child_set(name, value)

    def _var_key(self, variable):
        """Return the identity of a variable: of its storage, for Keras's variables and for results of assignments."""
        held = getattr(variable, "_value", None)
        held = variable if held is None else held
        return id(getattr(held, "_of", held))

    @_once_a_step
    def apply(self, grads, trainable_variables=None):
        """Update `trainable_variables` by `grads`, one for each."""
        other = [v for v in trainable_variables or () if isinstance(v, tf.Tensor)]
        if other:
            raise AttributeError(
                f"An optimizer updates variables, and was given {other[0]!r} of type {type(other[0]).__name__} in the place of "
                "one. Give a list of pairs, `opt.apply_gradients(zip(gradients, variables))`; for one variable "
                "`opt.apply_gradients([(gradient, variable)])`."
            )
        if trainable_variables and all(grad is None for grad in grads):
            trainable_variables = list(trainable_variables)
            raise ValueError(f"No gradients provided for any variable.{hooks.gradients.reasons(trainable_variables)}")
        if self.gradient_accumulation_steps or self.loss_scale_factor:
            grads = [tf.convert_to_tensor(grad) if isinstance(grad, tf.IndexedSlices) else grad for grad in grads]
        super().apply(grads, trainable_variables)

    def _filter_empty_gradients(self, grads, vars):
        """Remove the pairs without a gradient. A warning explains why there is none."""
        pairs = list(zip(grads, vars, strict=True))
        missing = [v for g, v in pairs if g is None]
        if not 0 < len(missing) < len(pairs):
            return super()._filter_empty_gradients(grads, vars)
        hooks.gradients.unapplied(missing, len(pairs))
        return [g for g, _ in pairs if g is not None], [v for g, v in pairs if g is not None]

    def _clip_by_norm(self, values, axes=None):
        return tf.clip_by_norm(values, self.clipnorm, axes)

"""Replay of calls of Keras's own layers, losses and metrics in eager code: Python runs twice, then its recorded ops are repeated.

The state of the object is compared before each call, and that of an optimizer before each update. Code that is not Keras's, or
may do more than record ops, runs in each call.
"""

import functools
import inspect
import re
from collections.abc import Callable
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from keras.src.backend.common import KerasVariable, global_state
from keras.src.backend.common.masking import get_keras_mask, set_keras_mask
from keras.src.backend.config import epsilon, floatx, image_data_format

import gradtape as tf
from gradtape._src.control.repeated import may_record
from gradtape._src.control.replayed import Replayed, all_hold
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.tensors.variable import ResourceVariable
from keras_gradtape.src.ops.core import convert_to_tensor

_OWN = ("keras.src.", "keras_gradtape.src.", "gradtape._src.core.")
_PLAIN = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type, EllipsisType, re.Pattern, np.dtype, tf.DType, tf.TensorShape)
)
# Attributes without influence on a call: collections, descriptions, training.
_UNUSED = frozenset(
    (
        "_tracker _auto_config _build_shapes_dict _inbound_nodes _outbound_nodes _metrics build quantize optimizer loss history "
        "_compile_loss _compile_metrics _compile_config _loss_tracker train_function test_function predict_function _strategy "
        "_eval_epoch_iterator _awaited"
    ).split()
)
_UNMASKED = "InputLayer", "Functional", "Sequential", "Cell", "Cells"  # layers of these kinds get arguments without masks
TIMES = 8  # number of changes of a layer in a row, without a replay between them, after which some calls are not recorded
_SCOPES = "recorded_call", "autocast_scope", "stateless_scope", "symbolic_scope", "distribution"


class Unknown(Exception):
    """Raised for an object that may have any effect: a function or an object of the user's."""


def is_of_keras(kind):
    """Return whether a class and its bases are Keras's or this backend's."""
    return all(base.__module__.startswith(_OWN) for base in kind.__mro__[:-1])


@functools.cache
def _kinds():
    """Return the classes of objects that need no inspection, as a call only reads or ignores them; and that of Keras's nodes."""
    from keras.src.backend.common.keras_tensor import KerasTensor
    from keras.src.dtype_policies.dtype_policy import DTypePolicy
    from keras.src.initializers.initializer import Initializer
    from keras.src.layers.input_spec import InputSpec
    from keras.src.layers.layer import Layer
    from keras.src.ops.node import Node
    from keras.src.regularizers.regularizers import Regularizer

    kept = (KerasTensor, DTypePolicy, Initializer, InputSpec, Regularizer, inspect.Signature, EagerTensor)
    return kept, Node, Layer


def _is_own(function):
    """Return whether a function, and the functions passed to it, are Keras's or this backend's."""
    known, stack = set(), [function]
    while stack:
        found = stack.pop()
        found = found.__func__ if isinstance(found, MethodType) else found
        if isinstance(found, FunctionType) and id(found) not in known:
            known.add(id(found))
            if not internal[found.__code__.co_filename]:
                return False
            stack += [cell.cell_contents for cell in found.__closure__ or ()]
    return True


class _Seen:
    """The state on which a call of `owner` depends: the attributes of all objects in it, and the methods of their classes.

    `same` compares identities. Values of variables are not part of the state.
    """

    def __init__(self, owner, times):
        self.times, self.records, self._owner = times, owner._records(), id(owner)
        self._variables, self._parts, self._classes, self._layers = [], [], {}, []
        self._known = {}
        if getattr(owner, "run_eagerly", False):
            raise Unknown  # the user wants to see Keras's Python code run
        self._look_at(owner)
        self.variables = [v._value for v in self._variables]
        self._check_masks()
        self._held = [item for part in self._parts for item in (part.values() if isinstance(part, dict) else part)]
        self._methods = [[*vars(kind).values()] for kind in self._classes]
        del self._known, self._layers

    def __reduce__(self):
        return type(None), ()  # a deep copy of the owner has no records

    def same(self, owner):
        """Return whether this is the state of `owner`, not of the object that it is a copy of, and unchanged."""
        return (
            id(owner) == self._owner
            and all_hold(self._parts, self._held)
            and all([*vars(kind).values()] == methods for kind, methods in zip(self._classes, self._methods, strict=True))
        )

    def _look_at(self, value):  # noqa: C901  (a case for each kind of value that a layer holds)
        kind = type(value)
        if kind in _PLAIN or id(value) in self._known:
            return
        self._known[id(value)] = value
        kept, node, layer = _kinds()
        if isinstance(value, KerasVariable):
            if type(value._value) is not ResourceVariable:
                raise Unknown
            self._variables.append(value)
            self._parts.append(vars(value))
            self._look_at(value.constraint)
        elif isinstance(value, tf.Variable):
            self._look_at(value.constraint)
        elif isinstance(value, (list, tuple, set, frozenset, dict)):
            if not isinstance(value, tuple):
                self._parts.append(value)
            for item in value.values() if isinstance(value, dict) else value:
                self._look_at(item)
        elif isinstance(value, slice):
            self._look_at((value.start, value.stop, value.step))
        elif isinstance(value, node):
            self._look_at(value.arguments.args)
            self._look_at(value.arguments.kwargs)
        elif isinstance(value, (FunctionType, MethodType, BuiltinFunctionType)):
            if not _is_own(value):
                raise Unknown
        elif isinstance(value, ModuleType):
            if not f"{value.__name__}.".startswith(_OWN):
                raise Unknown
        elif not is_of_keras(kind) and not isinstance(value, (inspect.Signature, EagerTensor)):
            raise Unknown
        elif not isinstance(value, kept):
            for base in kind.__mro__[:-1]:
                self._look_at_class(base)
            if isinstance(value, layer):
                self._layers.append(value)
            self._parts.append(vars(value))
            for name, item in vars(value).items():
                if name not in _UNUSED:
                    self._look_at(item)

    def _look_at_class(self, kind):
        if kind not in self._classes:
            for method in vars(kind).values():
                method = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
                other = not type(method).__module__.startswith(("builtins", "_abc", *_OWN))
                if other or (isinstance(method, FunctionType) and not _is_own(method)):
                    raise Unknown  # it replaces a method of Keras's
            self._classes[kind] = None

    def _check_masks(self):
        """Raise Unknown if a layer without mask support may get a mask, as it warns in each such call."""
        named = [(type(layer).__name__, layer) for layer in self._layers]
        masks = any(name == "Masking" or getattr(layer, "mask_zero", False) for name, layer in named)
        if masks and not all(layer.supports_masking or name.endswith(_UNMASKED) for name, layer in named):
            raise Unknown


def _arguments(args, kwargs):
    """Return the tensors among the arguments of a call, and their nest; None for other arguments."""
    if any(value is not None and name != "training" for name, value in kwargs.items()):
        return None
    training = kwargs.get("training")
    if training is not None and type(training) is not bool:
        return None
    found, form = [], [training, *kwargs]
    for arg in args:
        kind = type(arg)
        if kind in (list, tuple):
            form.append((kind, len(arg)))
            found += arg
        elif kind is dict:
            form.append((kind, *arg))
            found += arg.values()
        else:
            form.append(None)
            found.append(arg)
    return found, tuple(form)


def _packed(args, tensors):
    """Return arguments with these tensors in them."""
    left = iter(tensors)
    packed = []
    for arg in args:
        kind = type(arg)
        if kind in (list, tuple):
            packed.append(kind([next(left) for _ in arg]))
        else:
            packed.append({name: next(left) for name in arg} if kind is dict else next(left))
    return packed


def _converted(owner, values):
    """Convert arguments as their `owner` does: tensors unchanged, NumPy arrays to tensors; else None."""
    tensors = []
    for value in values:
        if type(value) is np.ndarray and value.dtype.kind in "biuf":
            value = owner._converted(value, len(values))
        if type(value) is not EagerTensor or get_keras_mask(value) is not None:
            return None
        tensors.append(value)
    return tensors


def _fits(layer, args):
    """Return whether the nest of the arguments is that of the model's inputs; otherwise it warns in each call."""
    from keras.src import tree

    functional = getattr(layer, "_functional", None) or layer
    inputs = getattr(functional, "_inputs_struct", None)
    if inputs is None or type(args[0]) is EagerTensor:
        return True
    try:
        tree.assert_same_structure(args[0], inputs)
    except (TypeError, ValueError):
        return False
    return True


def _taken_apart(outputs):
    """Return the tensors of a result, followed by their masks, and their nest; None for other results."""
    kind = type(outputs)
    form: tuple = (None,)
    if kind in (list, tuple):
        found, form = list(outputs), (kind, len(outputs))
    elif kind is dict:
        found, form = list(outputs.values()), (kind, *outputs)
    else:
        found = [] if outputs is None else [outputs]
    masks = [get_keras_mask(x) for x in found]
    found += [mask for mask in masks if mask is not None]
    return (found, (form, tuple([mask is not None for mask in masks]))) if all(type(x) is EagerTensor for x in found) else None


def _put_together(found, form):
    """Rebuild the result that `_taken_apart` has taken apart, with other tensors."""
    (kind, *names), masked = form
    outputs, masks = found[: len(masked)], iter(found[len(masked) :])
    for output, has in zip(outputs, masked, strict=True):
        if has:
            set_keras_mask(output, next(masks))
    if kind is None:
        return outputs[0] if outputs else None
    return dict(zip(names, outputs, strict=True)) if kind is dict else kind(outputs)


def replayed(call):
    """Wrap `call`, a method of Keras's, to replay a recorded call that would record the same ops again."""

    @functools.wraps(call)
    def once(self, *args, **kwargs):
        prepared = _prepared(self, args, kwargs)
        if prepared is None:
            return call(self, *args, **kwargs)
        seen, tensors, key = prepared
        given, ran = _packed(args, tensors), []

        def code(_):
            around = _context()
            global_state.set_global_attribute("recorded_call", True)  # the calls inside belong to its record
            try:
                ran.append(call(self, *given, **kwargs))
            finally:
                global_state.set_global_attribute("recorded_call", None)
            return _taken_apart(ran[0]) if seen.same(self) and _context() == around else None

        results = seen.records.call(key, code, tensors, seen.variables)
        return ran[0] if ran else _put_together(*results)

    return once


def _prepared(owner, args, kwargs):
    """Return the inputs of a call: the state of its owner, the tensors among the arguments, and the key of the rest.

    None if the Python code has to run, because something observes it or may change it.
    """
    if engine.local.trace.parent is not None or any(global_state.get_global_attribute(name) is not None for name in _SCOPES):
        return None
    seen = known(owner) if args and owner.built and may_record(taped=True) else None
    if not seen or (given := _arguments(args, kwargs)) is None or not _fits(owner, args):
        return None
    tensors = _converted(owner, given[0])
    context = _context()
    if tensors is None or context is None:
        return None
    flash = global_state.get_global_attribute("flash_attention")
    key = (given[1], context, bool(engine.local.tapes), scopes.prefix(), floatx(), epsilon(), image_data_format(), flash)
    return seen, tensors, key


def _context():
    """Return the arguments passed on by the call around this one, such as `training`; None for others, or if it runs eagerly."""
    around = global_state.get_global_attribute("current_call_ctx")
    if around is None:
        return ()
    if getattr(around.entry_layer, "run_eagerly", False):
        return None
    handed = {name: value for name, value in vars(around).items() if name != "entry_layer" and value is not None}
    return tuple(sorted(handed.items())) if all(type(v) is bool for v in handed.values()) else None


class _Waiting:
    """Stands for a state that is unknown or has changed too often. It is looked at again after some calls, each time more."""

    def __init__(self, times):
        self.times, self.left = times, 2**times

    def __reduce__(self):
        return type(None), ()

    def same(self, owner):
        """Return whether to wait, and count the call."""
        self.left -= 1
        return self.left >= 0


def known(owner):
    """Return the state on which a call depends; None if it is unknown."""
    seen = getattr(owner, "_seen", None)
    if seen is None or not seen.same(owner):
        waited = isinstance(seen, _Waiting)
        times = 1 if seen is None or (not waited and seen.records.entered) else seen.times + 1
        try:
            seen = _Seen(owner, times) if times <= TIMES or waited else _Waiting(times)
        except Unknown:
            seen = _Waiting(times)
        _slot.__set__(owner, seen)
    return seen if isinstance(seen, _Seen) else None


class Watched:
    """A class whose objects store the state of their calls in an attribute that Keras does not track, save or copy."""

    __slots__ = ("_seen",)
    _records: type[Any] = Replayed
    built = True  # whether there are the variables that a call uses

    def _converted(self, value, count):
        """Convert a NumPy array, one of `count` arguments, as the call does; unchanged if only the call itself may do so."""
        return value


class WatchedLoss(Watched):
    """The base of Keras's `Loss`, whose calls are replayed."""

    __slots__ = ()
    dtype: str

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if WatchedLoss in cls.__bases__:
            cls.__call__ = replayed(cls.__call__)  # type: ignore[method-assign]

    def _converted(self, value, count):
        return convert_to_tensor(value, self.dtype)


class WatchedMetric(Watched):
    """The base of Keras's `Metric`, whose updates are replayed."""

    __slots__ = ()
    update_state: Callable[..., Any]

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "update_state" in vars(cls) and is_of_keras(cls):
            cls.update_state = replayed(cls.update_state)


_slot = vars(Watched)["_seen"]

"""Operations, and the registry of operations and their gradients.

An `Op` is a TensorFlow op type name, a kernel (a function of JAX arrays), a rule for shapes and dtypes, and a gradient.
The gradient is a function, or a stated reason why there is none.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import jax
import numpy as np

from gradtape._src.core.base import hooks, naming
from gradtape._src.core.base.errors import InvalidArgumentError, invalid, invalid_dtype, mark
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.platform import arrays, xla
from gradtape._src.core.programs.traits import FACTS, Trait, facts
from gradtape._src.core.values.aval import aval, is_open
from gradtape._src.core.values.dim import dims

if TYPE_CHECKING:
    from gradtape._src.core.declarations.define import OpFunction
    from gradtape._src.core.programs.program import Program
    from gradtape._src.core.values.aval import Aval

Attributes = tuple[Any, ...]  # the values of an op's attributes, hashable
Kernel = Callable[..., Any]  # JAX arrays and attributes → a JAX array, or a tuple of them
Kind = TypeVar("Kind")
Rule = Callable[..., Any]  # (op, *dy) → one gradient for each input
Refusals = Iterable[tuple[Any, str | Callable[[], str]]]  # see `Op.refuses`
# Options of a declaration besides facts, with their defaults.
RULES: dict[str, Any] = {
    "infer": None, "broadcasting": False, "cheap": False, "refuses": None, "when": None, "effect": False,
    "strings": None, "joins": None, "gradient": None, "reason": None, "impure": False, "endless": None, "kept": None,
    "takes_none": False, "takes_slices": False, "gives_slices": False, "of_shapes": False,
}  # fmt: skip
KNOWN_AVALS = 1024  # results kept for one op, at most


class Op:
    """One kind of operation. It is declared once; `gradient` and other functions beside the declaration add to it.

    - `type`: TensorFlow's name, for `gradient_override_map` and error messages.
    - `kernel(*inputs, **attributes)`: JAX arrays to a JAX array, or to a tuple of them.
    - `attributes`: names of the kernel's keyword-only parameters; their values are static, part of the fingerprint.
    - `infer(*avals, **attributes)`: the result's Aval, or a tuple of Avals. Without it the kernel is traced.
    - `broadcasting`: the reverse pass sums each gradient to its input's shape, so the rule need not.
    - `saves`: the values that the gradient reads: names of inputs, `y` for the output (`y0`, `y1`… if there are several;
      `z` where an input is called y).
    - `cheap`: recomputing it costs less than keeping its value for the backward pass.
    - `prefers`: the dtype of the operands if none is a tensor; without it, the dtype of the first operand's value.
    - `defaults`: the values of the attributes if none is given, or None if one is required.
    - `refuses(*inputs, **attributes)`, of those that it names: values that the op cannot take, as pairs `(wrong, message)`. A
      kernel computes the booleans `wrong`; if one is True, `message` is the error's: a text, or a function that makes it of
      NumPy arrays. A later pair is of values that pass the pairs before it.
    - `when(*avals, **attributes)`: whether inputs of such Avals can be wrong at all; without it, always.
    - `guards`: see `guarded`.
    - `gradient(op, *dy)`: see `gradtape._src.core.declarations.define.gradient`; `reason` says why there is none.
    - `impure`: the gradient is user code, run anew for each gradient call.
    - `host(*inputs, **attributes)`: the function on arrays that replaces the kernel outside of XLA, if the op or a Program among
      its attributes has effects or strings.
    - `strings(*inputs, **attributes)`: the kernel for strings, on NumPy arrays of bytes; True: its own kernel, which takes them,
      too. Without it strings are refused.
    - `on_host`: the kernel takes and returns NumPy arrays, and runs outside of XLA.
    - `of_shapes`: the result depends on the shapes of its inputs, and not on their values.
    - `unhosted`: the reason why the kernel cannot run on NumPy by the `jnp` and `lax` of `core/platform/arrays`: it loops, or
      NumPy has no twin of it. An op without such a reason is `hosted`.
    - `takes_none`: its gradient gets None for an output without a cotangent; other gradients get zeros.
    - `takes_slices`: its gradient takes IndexedSlices as they are; others get them dense.
    - `gives_slices`: its gradient may return IndexedSlices.
    - `kept(attributes)`: the first output of a loop that is a residual of its gradient, allocated for its maximum of trips.
    - `endless(attributes)`: whether it may run for ever.
    - `joins`: the type of the op that combines its results for parts of its inputs into its result, with the same attributes.
    - `effect`: running it has a side effect, so it is never dropped and never repeated.
    - `traits`: names of `core.traits.Trait`.
    - `flops`: floating-point operations for each element of the result, or of a run: a function of (attributes by name, Avals of
      inputs, Aval of the result). `ops/flops.py` says what counts. Without it a profile lists the op, and never counts it as 0.
    - `folds(*inputs, **attributes)`: a kernel on arrays of int64 and of symbols, to fold computations on shapes. True: its kernel
      for strings, or else its own, takes them. If the op is `of_shapes`, it gets the shape of its input.
    - `operator`, `default_name`: the names in a graph of the result of a Python operator and of the function, if not the type.
    - `instead`: the explainer's advice where it has no derivative; `at_edge`: where its value or derivative is not finite.
    """

    __slots__ = (
        "at_edge", "attributes", "avals", "broadcasting", "cheap", "checked", "consulted", "default_name", "defaults",
        "derived", "effect", "endless", "flops", "folds", "forms", "function", "gives_slices", "gradient", "guards", "host",
        "hosted", "impure", "infer", "instead", "joins", "kept", "kernel", "of_shapes", "of_strings", "on_host", "operator",
        "parameters", "plain", "prefers", "reason", "refuses", "runs_outside", "saves", "strings", "takes_none", "takes_slices",
        "traits", "type", "unhosted", "unregistered", "variadic", "when",
    )  # fmt: skip
    type: str
    kernel: Kernel
    infer: Callable[..., Any] | None
    broadcasting: bool
    parameters: tuple[str, ...]
    attributes: tuple[str, ...]
    variadic: bool
    saves: tuple[str, ...]
    cheap: bool
    prefers: np.dtype | None
    refuses: Callable[..., Refusals] | None
    guards: str
    plain: Op
    forms: dict[str, Op]
    checked: tuple[str, ...]  # names of what `refuses` takes
    consulted: tuple[tuple[str, int], ...]  # the attributes among them, and their places
    when: Callable[..., bool] | None
    gradient: Rule | None
    reason: str | None
    unregistered: bool
    function: OpFunction | None
    defaults: Attributes | None
    impure: bool
    effect: bool
    endless: Callable[[Attributes], bool] | None
    host: Kernel | None
    hosted: bool
    unhosted: str
    strings: Kernel | None
    on_host: bool
    runs_outside: bool  # whether it can run outside of XLA, by Python
    of_shapes: bool
    of_strings: Op | None
    takes_none: bool
    takes_slices: bool
    gives_slices: bool
    kept: Callable[[Attributes], int] | None
    joins: str | None
    traits: Trait
    flops: float | Callable[[Any, Sequence[Aval], Any], float] | None
    folds: Callable[..., Any] | Literal[True] | None
    operator: str | None
    default_name: str | None
    instead: str
    at_edge: str
    avals: dict[tuple[Any, ...], Any]
    derived: dict[str, Op]
    structured = False  # whether it is a `StructuredOp`, which holds Programs
    is_call = False  # whether it runs one Program once, on all its inputs; its first results are the Program's

    def __init__(
        self,
        type: str,
        kernel: Kernel,
        *,
        saves: str = "",
        prefers: str | None = None,
        host: Kernel | None = None,
        on_host: bool = False,
        unhosted: str = "",
        attributes: str | None = None,
        **stated: Any,
    ) -> None:
        parameters = inspect.signature(kernel).parameters.values()
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] if attributes is None else attributes.split()
        outside = _of_arrays(kernel) if on_host else host
        rules = {name: stated.pop(name, default) for name, default in RULES.items()}
        if rules["strings"] is True:
            rules["strings"] = _of_numpy(kernel)
        self.declare(plain=self, guards="", forms={}, unregistered=False)
        self.declare(**rules, **facts(type, stated))
        unhosted = unhosted or ("it runs in Python" if outside is not None or self.effect else "")
        self.declare(type=type, kernel=outside if on_host else kernel, host=outside, on_host=on_host, attributes=tuple(named))
        self.declare(parameters=tuple([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]), saves=tuple(saves.split()))
        checked = () if self.refuses is None else tuple(inspect.signature(self.refuses).parameters)
        self.declare(checked=checked, consulted=tuple([(name, place) for place, name in enumerate(named) if name in checked]))
        self.declare(variadic=any(p.kind is p.VAR_POSITIONAL for p in parameters))
        self.declare(prefers=None if prefers is None else np.dtype(prefers), hosted=not unhosted, unhosted=unhosted)
        self.declare(runs_outside=outside is not None or self.structured, of_strings=None, function=None, defaults=None)
        self.declare(avals={}, derived={})

    def declare(self, **stated: Any) -> None:
        """Set parts of the declaration, such as the gradient or the public function, here and in the guarded forms."""
        for name, value in stated.items():
            object.__setattr__(self, name, value)
        for form in () if "forms" in stated else self.forms.values():
            form.declare(**stated)

    def _like(self, **others: Any) -> Op:
        """Return a copy of this op's declaration with `others` replaced."""
        made: Op = object.__new__(type(self))
        slots = {slot: getattr(self, slot) for kind in type(self).__mro__ for slot in vars(kind).get("__slots__", ())}
        made.declare(**(slots | {"derived": {}, "of_strings": None, "forms": {}} | others))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{self!r} is declared already, and its {name} cannot be set. Give it to Op, or use gradient or not_differentiable."
        )

    def __repr__(self) -> str:
        return f"<Op {self.type}>"

    @property
    def in_registry(self) -> bool:
        """Whether TensorFlow's registry has an entry for it: a gradient, or the statement that it has none."""
        return self.gradient is not None or (self.reason is not None and not self.unregistered)

    def run(self, inputs: Sequence[Any], attrs: Attributes) -> Any:
        """Return the kernel's result for JAX arrays `inputs` and the attribute values `attrs`."""
        if not attrs:
            return self.kernel(*inputs)
        return self.kernel(*inputs, **dict(zip(self.attributes, attrs, strict=True)))

    def programs(self, attrs: Attributes) -> tuple[Program, ...]:
        """Return the Programs that the op holds with these attributes."""
        return ()

    def resolved(self, inputs: tuple[Any, ...], attrs: Attributes) -> tuple[Op, Any]:
        """Return `(op to record, result)` for these input Avals; for strings, the op has the kernel for strings."""
        if self.strings is None or not any(map(has_strings, inputs)):
            return self, self.result(inputs, attrs)
        if self.of_strings is None:
            made = Op(self.type, self.strings, infer=self.infer, on_host=True)
            made.declare(attributes=self.attributes, parameters=self.parameters, variadic=self.variadic)
            made.declare(function=self.function, saves=self.saves, gradient=self.gradient, reason=self.reason)
            made.declare(refuses=self.refuses, checked=self.checked, consulted=self.consulted, when=self.when)
            made.declare(**{name: getattr(self, name) for name in FACTS})
            object.__setattr__(self, "of_strings", made.guarded(self.guards == "always") if self.guards else made)
        assert self.of_strings is not None
        return self.of_strings, self.of_strings.result(inputs, attrs)

    def result(self, inputs: tuple[Any, ...], attrs: Attributes) -> Any:
        """Return the Aval (or tuple of Avals) of the op for input Avals; raise the error of a bad call."""
        strings = any(map(has_strings, inputs))
        try:
            if self.infer is not None:
                result = self.infer(*inputs, **dict(zip(self.attributes, attrs, strict=True)))
            elif not strings:
                result = self._traced(inputs, attrs)
        except InvalidArgumentError as error:
            mark(error, self.type)
            if not naming.open_graphs:
                raise
            raise hooks.graphs.refused(error) from None
        if strings and not (self.runs_outside or self.effect):  # an op with an effect is not run by XLA
            raise invalid_dtype(
                f"Value for attr 'T' of string is not in the list of allowed values: {self.type} takes numbers. "
                f"tf.strings.to_number makes numbers of strings. [Op:{self.type}]"
            )
        has_symbols = is_open((*inputs, result)) or (not inputs and dims(attrs))
        if not (self.on_host or strings or has_symbols):  # `engine.record` needs each call of a host op to come here
            if len(self.avals) >= KNOWN_AVALS:
                self.avals.clear()
            self.avals[(attrs, *inputs)] = result
        return result

    def _traced(self, inputs: tuple[Any, ...], attrs: Attributes) -> Any:
        specs = [jax.ShapeDtypeStruct(i.shape, i.dtype) for i in inputs]
        try:
            result = xla.shapes(lambda *arrays: self.run(arrays, attrs), *specs)
        except (TypeError, ValueError, IndexError) as error:
            received = ", ".join(f"{i.type.name} of shape {list(i.shape)}" for i in inputs)
            raise invalid(f"{self.type} cannot take {received}: {str(error).splitlines()[0]}") from None
        if isinstance(result, (tuple, list)):
            return tuple([aval(r.shape, r.dtype) for r in result])
        return aval(result.shape, result.dtype)

    def guarded(self, always: bool = False) -> Op:
        """Return the form of this op that a Program runs with its checks; the form's `plain` is this op.

        If its result is unused, it is dropped, unless its values are checked `always`.
        """
        guards = "always" if always else "used"
        if self.guards:
            return self if self.guards == guards else self.plain.guarded(always)
        if guards not in self.forms:
            self.forms[guards] = self._like(guards=guards)
        return self.forms[guards]

    def with_gradient(self, name: str) -> Op:
        """Return this op with the gradient registered under `name`, for `gradient_override_map`."""
        derived = self.derived.get(name)
        if derived is None:
            derived = self._like(reason=None, unregistered=False, cheap=False, kept=None, takes_none=False, takes_slices=False)
            derived.declare(plain=derived if self.plain is self else self.plain.with_gradient(name))
            try:
                rule, impure = gradient_named(name)
            except LookupError:  # it may be registered later, so the gradient call raises the error
                rule, impure = _named_later(name), True
            derived.declare(gradient=rule, impure=impure, saves=(*self.parameters, "y"))
            self.derived[name] = derived
        return derived


def _named_later(name: str) -> Rule:
    """Return a gradient that looks `name` up when it is called."""

    def gradient(*arguments: Any) -> Any:
        found, _ = gradient_named(name)
        return None if found is None else found(*arguments)

    return gradient


def has_strings(aval: Any) -> bool:
    """Return whether an Aval, or one in a nest of tuples, is of strings."""
    if type(aval) is not tuple:
        return bool(aval.dtype.hasobject)
    return any([has_strings(a) if type(a) is tuple else a.dtype.hasobject for a in aval])  # noqa: C419


def _of_numpy(kernel: Kernel) -> Kernel:
    """Wrap `kernel` so that its `jnp` and `lax` compute with NumPy."""
    return lambda *inputs, **attributes: arrays.called_on_host(kernel, inputs, attributes)


def _of_arrays(kernel: Kernel) -> Kernel:
    """Wrap `kernel`, whose results may be scalars or bytes, so that it returns arrays."""

    def of_arrays(*inputs: Any, **attributes: Any) -> Any:
        result = kernel(*map(np.asarray, inputs), **attributes)
        return tuple(map(_array, result)) if isinstance(result, tuple) else _array(result)

    return of_arrays


def _array(value: Any) -> np.ndarray:
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)  # NumPy's bytes dtype drops trailing NULs


ops: dict[str, Op] = {}
data_kinds: dict[str, type] = {}  # by name: classes of attribute values, frozen dataclasses of plain fields
registered: dict[str, tuple[Rule, str]] = {}
replaced: dict[Op, dict[str, Any]] = {}  # built-in ops with replaced gradients → their own declarations
_GRADIENT = ("gradient", "reason", "unregistered", "impure", "saves")


def data(kind: type[Kind]) -> type[Kind]:
    """Decorate a frozen dataclass whose instances are attributes of ops, and are saved as their fields."""
    data_kinds[kind.__name__] = kind
    return kind


def define(op: Op) -> Op:
    """Enter `op` into the registry."""
    if op.type in ops:
        code = getattr(inspect.unwrap(ops[op.type].kernel), "__code__", None)
        where = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
        raise KeyError(f"An op of type {op.type!r} is declared already{where}. Give the new op another type.")
    ops[op.type] = op
    return op


def of_tensorflow(name: str) -> Op | None:
    """Return the op of a type that TensorFlow has; None for another name."""
    op = ops.get(name)
    return None if op is None or Trait.OWN in op.traits else op


def gradient_named(name: str) -> tuple[Rule | None, bool]:
    """Return `(function, whether it is user code)` for a name given to RegisterGradient, or a built-in op type."""
    if name in registered:
        return registered[name][0], True
    if name in ops:
        if not ops[name].in_registry:
            raise no_gradient(name)
        return ops[name].gradient, ops[name].impure
    raise no_gradient(name)


def no_gradient(name: str) -> LookupError:
    """Return the error for a name without an entry in the registry."""
    return LookupError(f"gradient registry has no entry for: {name}")


def replace_gradient(name: str, rule: Rule | None, where: str) -> None:
    """Set the gradient of a name from now on; None means that it has no gradient.

    Setting a built-in op's own rule restores its declaration. Functions traced before keep the gradient that they have.
    """
    op = of_tensorflow(name)
    if op is None:
        registered[name] = rule or _nothing, where
        return
    own = _kept_aside(op)
    if rule is own["gradient"]:
        op.declare(**replaced.pop(op))
    elif rule is None:
        op.declare(gradient=None, reason="its gradient was taken out of the registry", unregistered=False, impure=False)
    else:
        op.declare(gradient=rule, impure=True, unregistered=False, saves=(*op.parameters, "y"))


def remove_gradient(name: str) -> None:
    """Remove a name from the registry, so that a gradient through it raises LookupError."""
    op = of_tensorflow(name)
    registered.pop(name, None)
    if op is not None and op.in_registry:
        _kept_aside(op)
        op.declare(gradient=None, unregistered=True, impure=False)


def _kept_aside(op: Op) -> dict[str, Any]:
    return replaced.setdefault(op, {state: getattr(op, state) for state in _GRADIENT})


def _nothing(op: Any, *gradients: Any) -> list[None]:
    return [None] * len(op.inputs)


class RegisterGradient:
    """Decorator that registers a gradient function under a name: an op type's, or one for `gradient_override_map`.

    The function takes `(op, *grads)`: `op.inputs`, `op.outputs`, `op.get_attr(name)`, `op.type`, and one gradient for
    each output. It returns one Tensor or `None` for each input. A name that is taken raises `KeyError`.

    >>> @tf.RegisterGradient("AsIdentity")
    ... def as_identity(op, dy):
    ...     return dy
    >>> x = tf.Variable(2.6)
    >>> with tf.GradientTape() as tape, tf.gradient_override_map({"Round": "AsIdentity"}):
    ...     y = tf.round(x)
    >>> print(y.numpy(), tape.gradient(y, x).numpy())
    3.0 1.0
    """

    __slots__ = ("_name",)

    @public
    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, not {op_type!r}")
        self._name = op_type

    def __call__(self, function: Rule) -> Rule:
        op = of_tensorflow(self._name)
        if self._name in registered or (op is not None and op.in_registry):
            where = registered.get(self._name, (None, "gradtape itself"))[1]
            raise KeyError(
                f"Registering two gradient with name '{self._name}'! (Previous registration was in {where}) "
                "Choose another name and map the op type to it with gradient_override_map."
            )
        frame = sys._getframe(1)
        registered[self._name] = function, f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if op is not None:
            op.declare(gradient=function, impure=True, saves=(*op.parameters, "y"))
        return function


@public
@known_as("no_gradient")
def no_gradient_of(op_type: str) -> None:
    """Register that an op type has no gradient: gradients through it are None, as in TensorFlow.

    It equals `tf.RegisterGradient` with a function that returns None. Raises KeyError if a gradient is registered already.

    >>> tf.no_gradient("Blocked")
    >>> x = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape, tf.gradient_override_map({"Square": "Blocked"}):
    ...     y = x + tf.square(x)
    >>> print(tape.gradient(y, x).numpy())
    1.0
    """
    RegisterGradient(op_type)(_nothing)

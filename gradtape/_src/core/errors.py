"""TensorFlow's exception classes, and the cutting of library frames from tracebacks."""

from __future__ import annotations

import dis
import functools
import inspect
import os
import reprlib
import sys
import sysconfig
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from gradtape._src.core import hooks, naming, other_libraries
from gradtape._src.core.signatures import DeferredSignature

P = ParamSpec("P")
R = TypeVar("R")

# The code of each class below.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class NeedsValues(NotImplementedError):
    """Something that is being traced cannot be compiled: a shape, or the way it goes on, depends on values.

    Raised where the library needs a value; a function is then run eagerly. `node` needs one, if known; `fix`: what to do instead.
    """

    node: Any = None
    fix = ""

    def __init__(self, message: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


class OpError(Exception):
    """Base of the errors that an operation raises. Made as TensorFlow's: `OpError(node_def, op, message)`.

    >>> try:
    ...     tf.debugging.assert_equal(1, 2)
    ... except tf.errors.OpError as error:
    ...     print(type(error).__name__, error.error_code)
    InvalidArgumentError 3
    """

    code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(message)
        self.node_def, self.op, self.message = node_def, op, message

    @property
    def error_code(self) -> int:
        """The numeric status code, as in TensorFlow."""
        return self.code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        kind = InvalidArgumentError if type(self) in READ_AS else type(self)  # what another process can find by its name
        return kind, (self.node_def, self.op, self.message)


class CancelledError(OpError):
    """The error of an operation that was cancelled before it was done. gradtape cancels none.

    >>> error = tf.errors.CancelledError(None, None, "the run was stopped")
    >>> print(error.error_code, error)
    1 the run was stopped
    """

    code = CANCELLED


class UnknownError(OpError):
    """The error of a failure that has no class of its own, such as that of a Python function that an operation called.

    >>> try:
    ...     tf.function(lambda: tf.numpy_function(lambda: 1 / 0, [], tf.float64))()
    ... except tf.errors.UnknownError as error:
    ...     print(error.message.splitlines()[0])
    ZeroDivisionError: division by zero
    """

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """An argument whose value, shape or dtype the operation cannot take.

    >>> try:
    ...     tf.gather([1.0, 2.0], 5)
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(type(error).__name__)
    InvalidArgumentError
    """

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The error of an operation that was not done in the time that it had. gradtape sets no such time.

    >>> error = tf.errors.DeadlineExceededError(None, None, "no answer in 10 seconds")
    >>> print(error.error_code, error)
    4 no answer in 10 seconds
    """

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """The error for something that was asked for by name and does not exist.

    >>> try:
    ...     tf.io.gfile.remove("not there")
    ... except tf.errors.NotFoundError as error:
    ...     print(error)
    not there; No such file or directory
    """

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """The error for something that was to be made and exists.

    >>> tf.io.write_file("taken.txt", "text")
    >>> try:
    ...     tf.io.gfile.copy("taken.txt", "taken.txt")
    ... except tf.errors.AlreadyExistsError as error:
    ...     print(error)
    taken.txt: file already exists. Give overwrite=True to replace it.
    """

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The error for something that the caller may not do.

    >>> try:
    ...     tf.io.gfile.GFile("notes.txt", "w").read()
    ... except tf.errors.PermissionDeniedError as error:
    ...     print(error)
    File isn't open for reading
    """

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """The error for memory, or another resource, that does not suffice.

    >>> x = tf.ones([1 << 22])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.square(x)
    >>> try:
    ...     tape.jacobian(y, x)  # 4,194,304² elements
    ... except tf.errors.ResourceExhaustedError as error:
    ...     print(error.message.split(":")[0])
    The Jacobian would not fit into memory
    """

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The error for a system that is not in a state in which the operation can run.

    >>> tf.io.write_file("a file", "text")
    >>> try:
    ...     tf.io.gfile.makedirs("a file/below")
    ... except tf.errors.FailedPreconditionError as error:
    ...     print(error)
    a file is not a directory
    """

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The error of an operation that was given up because another stood in its way. gradtape gives none up.

    >>> error = tf.errors.AbortedError(None, None, "another save is running")
    >>> print(error.error_code, error)
    10 another save is running
    """

    code = ABORTED


class OutOfRangeError(OpError):
    """The error of an iteration that went past its end.

    >>> try:
    ...     iter(tf.data.Dataset.range(0)).get_next()
    ... except tf.errors.OutOfRangeError as error:
    ...     print(error)
    End of sequence: the dataset has no more elements.
    """

    code = OUT_OF_RANGE


class OperatorNotAllowedInGraphError(TypeError):
    """The error for a tensor without a value that is used as a Python value, in a function or graph.

    >>> try:
    ...     tf.function(lambda x: 1 if x else 2, autograph=False)(tf.constant(True))
    ... except tf.errors.OperatorNotAllowedInGraphError as error:
    ...     print(str(error).split(":")[0])
    Using a symbolic `tf.Tensor` as a Python `bool` is not allowed
    """


class InaccessibleTensorError(ValueError):
    """The error for a tensor of a branch, a loop's body or an inner function that is used in the function around it."""

    __module__ = "builtins"  # it is caught as a ValueError: TensorFlow's has no public name

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueError, self.args


class UnimplementedError(OpError):
    """The error of an operation that does not exist for these arguments.

    >>> try:
    ...     tf.nn.max_pool(tf.ones([2, 4, 4, 1]), ksize=[2, 1, 1, 1], strides=1, padding="VALID")
    ... except tf.errors.UnimplementedError as error:
    ...     print(error)
    Pooling is not yet supported on the batch dimension: ksize=[2, 1, 1, 1].
    """

    code = UNIMPLEMENTED


class InternalError(OpError):
    """The error for something that ought to hold in any case and does not.

    >>> try:
    ...     tf.io.encode_png(tf.zeros([0, 4, 3], tf.uint8))
    ... except tf.errors.InternalError as error:
    ...     print(error.message.split(" [")[0])
    PNG encoding failed: a picture of shape
    """

    code = INTERNAL


class UnavailableError(OpError):
    """The error for a resource of the operation that is not available now.

    >>> try:
    ...     tf.profiler.experimental.stop()
    ... except tf.errors.UnavailableError as error:
    ...     print(error.message.split(":")[0])
    Cannot export profiling results. No profiler is running
    """

    code = UNAVAILABLE


class DataLossError(OpError):
    """The error for data that were lost, or cannot be read: a file that is damaged or no file of its kind.

    >>> tf.io.write_file("text.tfrecord", "a text, and not a file of records")
    >>> try:
    ...     list(tf.data.TFRecordDataset("text.tfrecord"))
    ... except tf.errors.DataLossError as error:
    ...     print(error)
    text.tfrecord; corrupted record at 0 (Is this even a TFRecord file?)
    """

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The error for a caller who did not say who they are. gradtape asks nobody.

    >>> error = tf.errors.UnauthenticatedError(None, None, "no token")
    >>> print(error.error_code, error)
    16 no token
    """

    code = UNAUTHENTICATED


class InvalidInFunctionError(InvalidArgumentError, ValueError):
    """An argument that an operation cannot take, found while a function is traced: TensorFlow raises a ValueError for it."""


class DtypeError(InvalidArgumentError, TypeError):
    """A dtype that an operation cannot take. TensorFlow has either class, by the op."""


class DtypeInFunctionError(DtypeError):
    """A dtype that an operation cannot take, found while a function is traced: TensorFlow raises a TypeError for it."""


class SymbolicNumberError(OperatorNotAllowedInGraphError):
    """A Python number was asked of a tensor that has no value yet: a plain TypeError in TensorFlow."""


class UnknownNameError(ValueError, TypeError):
    """A string in the place of a tensor that is no name on the tape: no tensor at all, to TensorFlow."""


# What tracing a function raises that looks at values.
LOOKS_AT_VALUES = (NotImplementedError, OperatorNotAllowedInGraphError)

# What a user reads, in a traceback or as `type(error).__name__`: the class that TensorFlow has there.
READ_AS = {
    InvalidInFunctionError: ValueError,
    DtypeError: InvalidArgumentError,
    DtypeInFunctionError: TypeError,
    SymbolicNumberError: TypeError,
    UnknownNameError: TypeError,
}


def name_as_read() -> None:
    """Give the classes of READ_AS the names that a user reads."""
    for kind, known in READ_AS.items():
        kind.__name__, kind.__qualname__, kind.__module__ = known.__name__, known.__qualname__, known.__module__


name_as_read()


def invalid(message: str) -> InvalidArgumentError:
    """Create an `InvalidArgumentError` with `message`, ready to be raised; a ValueError too while a function is traced."""
    return (InvalidInFunctionError if hooks.core.tracing() else InvalidArgumentError)(None, None, message)


def of_op(message: str, type: str) -> str:
    """Return the message of an op's error: a line of TensorFlow's words and the op, advice, and under the door the kernel."""
    if "[Op:" in message:
        return message
    words, newline, advice = message.partition("\n")
    place, behind = ("", "") if hooks.core.tracing() else hooks.door.kernel(type)
    return f"{words} [Op:{type}]{behind}{newline}{advice}" + (f"\n{place}" if place else "")


def mark(error: OpError, type: str) -> None:
    """Mark the message of an error with the op that it is of, as `of_op` does; other libraries read it in `args`."""
    error.message = of_op(error.message, type)
    error.args = (error.message,)


def invalid_for(type: str, message: str) -> InvalidArgumentError:
    """Create the error for an op that cannot take its inputs, like `invalid`; advice stands on a second line of `message`."""
    return invalid(of_op(message, type))


def unmet(message: str) -> OpError:
    """Create a `FailedPreconditionError` with `message`, ready to be raised; as `invalid` while a function is traced."""
    return invalid(message) if hooks.core.tracing() else FailedPreconditionError(None, None, message)


def invalid_dtype(message: str) -> InvalidArgumentError:
    """Create the error for a wrong dtype, like `invalid`; a TypeError too while a function is traced."""
    return (DtypeInFunctionError if hooks.core.tracing() else InvalidArgumentError)(None, None, message)


PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
OWN = (PACKAGE, os.path.join(os.path.dirname(PACKAGE.rstrip(os.sep)), "keras_gradtape", ""))
DEMO = os.path.join(PACKAGE, "_src", "demo", "")  # written as a user would
keeps_frames = bool(os.environ.get("GRADTAPE_FULL_TRACEBACK"))  # whether the library's own stay in tracebacks


def keep_frames(kept: bool) -> None:
    """Leave the library's own frames in tracebacks, or cut them out."""
    global keeps_frames
    keeps_frames = kept


class _Internal(dict[str, bool]):
    """File name → whether its frames are the library's own (or a dependency's that it called)."""

    def __missing__(self, filename: str) -> bool:
        inside = (filename.startswith(OWN) and not filename.startswith(DEMO)) or any(
            f"{os.sep}site-packages{os.sep}{name}{os.sep}" in filename for name in ("jax", "jaxlib", "optree", "malt", "keras")
        )
        self[filename] = inside
        return inside


internal = _Internal()


class _Foreign(dict[str, bool]):
    """File name → whether it belongs to Python or to a library of arrays: not the user's if the library called it."""

    def __missing__(self, filename: str) -> bool:
        package = filename.rpartition(f"{os.sep}site-packages{os.sep}")[2]
        inside = (
            package.split(os.sep)[0] in ("numpy", "scipy", "ml_dtypes") if package != filename else filename.startswith(STANDARD)
        )
        self[filename] = inside
        return inside


STANDARD = (sysconfig.get_paths()["stdlib"] + os.sep, "<frozen ")
foreign = _Foreign()


def cut(error: BaseException) -> None:
    """Take the library's frames out of `error`'s traceback, keep those of user code that the library called.

    Called in an `except` block that ends in a bare `raise`, which adds no entry: what the user sees last is a line of theirs.
    """
    if isinstance(error, OF_PYTHON):
        raised(error)
    if keeps_frames:
        return
    first = last = None
    inside = False
    entry = error.__traceback__
    while entry is not None:
        following = entry.tb_next
        filename = entry.tb_frame.f_code.co_filename
        inside = internal[filename] or (inside and foreign[filename])
        if not inside:
            if first is None:
                first = entry
            elif last is not None:
                last.tb_next = entry
            last = entry
        entry = following
    if last is not None:
        last.tb_next = None
    error.__traceback__ = first


# The classes of errors that Python itself raises where a value is not what the code takes it for.
OF_PYTHON = (ArithmeticError, AssertionError, AttributeError, BufferError, LookupError, TypeError, ValueError)
RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])
MAX_RECEIVED = 60  # characters of one argument
_brief = reprlib.Repr()
_brief.maxother = _brief.maxstring = MAX_RECEIVED


def raised(error: Exception) -> bool:
    """Return whether a `raise` of the library's or user code made the error, not Python, NumPy or JAX called by the library.
    The answer stays with the error, as `cut` takes the frames away that tell it.
    """
    known = getattr(error, "_gradtape_raised", None)
    entry: TracebackType | None = error.__traceback__
    if known is not None or entry is None:
        return bool(known)
    inside = True
    while entry.tb_next is not None:
        entry = entry.tb_next
        filename = entry.tb_frame.f_code.co_filename
        inside = internal[filename] or (inside and foreign[filename])
        if not inside:
            return True
    code = entry.tb_frame.f_code
    deliberate = code.co_filename.startswith(OWN) and code.co_code[entry.tb_lasti] in RAISES
    error._gradtape_raised = deliberate  # type: ignore[attr-defined]
    return deliberate


REFUSALS = TypeError, ValueError  # what a function says that cannot take a tensor of another kind


def otherwise(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a call of a public function gives that failed for its tensors, and has a version for what it was given.

    NotImplemented where there is none. An error of that version is raised without the one before.
    """
    try:
        return hooks.core.dispatched(function, args, kwargs)
    except Exception as error:
        raise error from None


def explained(error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException:
    """Return the error to raise for `error`, which left a public function.

    Errors that the library raises are returned as they are, and so are those of user code. Others, of Python, NumPy or JAX,
    speak of values that the user has not seen: the function and what it received are added to them, and the class is Python's.
    """
    kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
    if isinstance(error, OpError) or not issubclass(kind, OF_PYTHON) or raised(error):
        return error
    if internal[sys._getframe(2).f_code.co_filename]:  # the function that the user called tells what it received
        return error
    if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # arguments that its signature lacks
        return other_libraries.with_nearest_keyword(error, function, kwargs)
    message = str(error.args[0] if len(error.args) == 1 else error).rstrip(".")
    name = function.__qualname__.removesuffix(".__init__")
    told = f"{name} cannot take these arguments: {message}. Received: {received(function, args, kwargs)}."
    known: Any = error if kind is type(error) else kind(told)
    known.args, known.__suppress_context__, known._gradtape_raised = (told,), True, True
    return known


def received(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the arguments of a call as text, tensors as dtype and shape."""
    arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    return ", ".join(f"{name}={_described(value)}" for name, value in arguments.items() if name != "self")


def _described(value: Any) -> str:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None or isinstance(value, type):
        return _brief.repr(value)
    return f"<{type(value).__name__} of dtype {getattr(dtype, 'name', dtype)} and shape {shape}>"


def _raised_inside(error: BaseException) -> bool:
    """Return whether the library raised an error, or NumPy for it, as of an array on the host; not a function of the user's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and internal[at.tb_frame.f_code.co_filename]


def of_user(error: Exception) -> bool:
    """Return whether a `raise` of user code made the error."""
    at = error.__traceback__
    assert at is not None
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    return not internal[code.co_filename] and code.co_code[at.tb_lasti] == RAISES[0]


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function of the public interface: an error that leaves it shows the user's frames only."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                if naming.open_graphs:
                    result: R = naming.named(function, args, kwargs)
                    return result
                if not kwargs:  # without an empty dict to unpack
                    return function(*args)  # type: ignore[call-arg]
                if (name := kwargs.get("name")) is not None:
                    given: R = hooks.core.called(function, args, kwargs, name)
                    return given
                return function(*args, **kwargs)
            except MemoryError as error:
                if not _raised_inside(error):
                    raise
                raise ResourceExhaustedError(None, None, f"Out of memory: {error}. No variable was changed.") from None
            except Exception as error:
                if isinstance(error, REFUSALS) and (found := otherwise(call, args, kwargs)) is not NotImplemented:
                    version: R = found
                    return version
                if (other := explained(error, function, args, kwargs)) is not error:
                    raise other from None
                raise
        except BaseException as error:
            cut(error)
            raise

    call.__signature__ = DeferredSignature(function)  # type: ignore[attr-defined]
    return call

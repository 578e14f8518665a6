"""TensorFlow's exception classes, and the functions that create them."""

from __future__ import annotations

from typing import Any, Self

from gradtape._src.core.base import hooks
from gradtape._src.core.base.hidden import hides

# The codes of the classes below.
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


WITHOUT_VALUES = "needs the value of a tensor, and there are none while a function or gradient is traced"
KEEP_SIZES = (
    "Keep sizes independent of values (tf.where(condition, x, 0.0) puts zeros in the place of what is left out), or take that "
    "out of the function."
)


class NeedsValues(NotImplementedError):
    """A function under trace cannot be compiled, because a shape or its control flow depends on values.

    Raised where the library needs a value; the function then runs as eager code. `node` is the value needed, if known, `fix` the
    advice. `named` tells whether the message names the public function that the user called.
    """

    node: Any = None
    named = False
    fix = ""

    def __init__(self, message: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


@hides("saying")
class OpError(Exception):
    """Base of the errors raised by operations. Constructed as in TensorFlow: `OpError(node_def, op, message)`.

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

    @classmethod
    def saying(cls, message: str) -> Self:
        """Return an error that belongs to no node and no op of a graph."""
        return cls(None, None, message)

    @property
    def error_code(self) -> int:
        """The numeric status code, as in TensorFlow."""
        return self.code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling in another process finds this class by its name.
        kind = InvalidArgumentError if type(self) in READ_AS else type(self)
        return kind, (self.node_def, self.op, self.message)


class CancelledError(OpError):
    """The error of a cancelled operation. gradtape never cancels one.

    >>> error = tf.errors.CancelledError(None, None, "the run was stopped")
    >>> print(error.error_code, error)
    1 the run was stopped
    """

    code = CANCELLED


class UnknownError(OpError):
    """The error of a failure without a class of its own, such as an exception in a Python function called by an operation.

    >>> try:
    ...     tf.function(lambda: tf.numpy_function(lambda: 1 / 0, [], tf.float64))()
    ... except tf.errors.UnknownError as error:
    ...     print(error.message.splitlines()[0])
    ZeroDivisionError: division by zero
    """

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """An argument whose value, shape or dtype is invalid for the operation.

    >>> try:
    ...     tf.gather([1.0, 2.0], 5)
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(type(error).__name__)
    InvalidArgumentError
    """

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The error of an operation that exceeded its time limit. gradtape sets none.

    >>> error = tf.errors.DeadlineExceededError(None, None, "no answer in 10 seconds")
    >>> print(error.error_code, error)
    4 no answer in 10 seconds
    """

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """The error for a name that does not exist.

    >>> try:
    ...     tf.io.gfile.remove("not there")
    ... except tf.errors.NotFoundError as error:
    ...     print(error)
    not there; No such file or directory
    """

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """The error for an object that exists already.

    >>> tf.io.write_file("taken.txt", "text")
    >>> try:
    ...     tf.io.gfile.copy("taken.txt", "taken.txt")
    ... except tf.errors.AlreadyExistsError as error:
    ...     print(error)
    taken.txt: file already exists. Give overwrite=True to replace it.
    """

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The error for an action that the caller is not permitted to do.

    >>> try:
    ...     tf.io.gfile.GFile("notes.txt", "w").read()
    ... except tf.errors.PermissionDeniedError as error:
    ...     print(error)
    File isn't open for reading
    """

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """The error for insufficient memory, or another exhausted resource.

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
    """The error of an operation that the present state of the system does not permit.

    >>> tf.io.write_file("a file", "text")
    >>> try:
    ...     tf.io.gfile.makedirs("a file/below")
    ... except tf.errors.FailedPreconditionError as error:
    ...     print(error)
    a file is not a directory
    """

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The error of an operation aborted because of another one. gradtape never aborts one.

    >>> error = tf.errors.AbortedError(None, None, "another save is running")
    >>> print(error.error_code, error)
    10 another save is running
    """

    code = ABORTED


class OutOfRangeError(OpError):
    """The error of an iteration past its end.

    >>> try:
    ...     iter(tf.data.Dataset.range(0)).get_next()
    ... except tf.errors.OutOfRangeError as error:
    ...     print(error)
    End of sequence: the dataset has no more elements.
    """

    code = OUT_OF_RANGE


class OperatorNotAllowedInGraphError(TypeError):
    """The error for a symbolic tensor used as a Python value, in a function or graph.

    >>> try:
    ...     tf.function(lambda x: 1 if x else 2, autograph=False)(tf.constant(True))
    ... except tf.errors.OperatorNotAllowedInGraphError as error:
    ...     print(str(error).split(":")[0])
    Using a symbolic `tf.Tensor` as a Python `bool` is not allowed
    """


class InaccessibleTensorError(ValueError):
    """The error for a tensor of a branch, loop body or inner function that is used in the outer function."""

    __module__ = "builtins"  # TensorFlow's class has no public name; users catch ValueError

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueError, self.args


class UnimplementedError(OpError):
    """The error of an operation that is not implemented for these arguments.

    >>> try:
    ...     tf.nn.max_pool(tf.ones([2, 4, 4, 1]), ksize=[2, 1, 1, 1], strides=1, padding="VALID")
    ... except tf.errors.UnimplementedError as error:
    ...     print(error)
    Pooling is not yet supported on the batch dimension: ksize=[2, 1, 1, 1].
    """

    code = UNIMPLEMENTED


class InternalError(OpError):
    """The error for a violated invariant.

    >>> try:
    ...     tf.io.encode_png(tf.zeros([0, 4, 3], tf.uint8))
    ... except tf.errors.InternalError as error:
    ...     print(error.message.split(" [")[0])
    PNG encoding failed: a picture of shape
    """

    code = INTERNAL


class UnavailableError(OpError):
    """The error for a resource that is not available at present.

    >>> try:
    ...     tf.profiler.experimental.stop()
    ... except tf.errors.UnavailableError as error:
    ...     print(error.message.split(":")[0])
    Cannot export profiling results. No profiler is running
    """

    code = UNAVAILABLE


class DataLossError(OpError):
    """The error for lost or unreadable data: a file that is damaged, or not of the expected kind.

    >>> tf.io.write_file("text.tfrecord", "a text, and not a file of records")
    >>> try:
    ...     list(tf.data.TFRecordDataset("text.tfrecord"))
    ... except tf.errors.DataLossError as error:
    ...     print(error)
    text.tfrecord; corrupted record at 0 (Is this even a TFRecord file?)
    """

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The error for a caller without credentials. gradtape asks for none.

    >>> error = tf.errors.UnauthenticatedError(None, None, "no token")
    >>> print(error.error_code, error)
    16 no token
    """

    code = UNAUTHENTICATED


class InvalidInFunctionError(InvalidArgumentError, ValueError):
    """An invalid argument found while a function is traced or a graph is built, for which TensorFlow raises a ValueError."""


class DtypeError(InvalidArgumentError, TypeError):
    """An invalid dtype. It has both of TensorFlow's classes, which differ between ops."""


class DtypeInFunctionError(DtypeError):
    """An invalid dtype found while a function is traced or a graph is built, for which TensorFlow raises a TypeError."""


class SymbolicNumberError(OperatorNotAllowedInGraphError):
    """The conversion of a symbolic tensor to a Python number, for which TensorFlow raises a plain TypeError."""


class UnknownNameError(ValueError, TypeError):
    """A string in place of a tensor that is not a name on the tape. TensorFlow accepts no strings there."""


# The errors of tracing a function that depends on values.
LOOKS_AT_VALUES = (NotImplementedError, OperatorNotAllowedInGraphError)

# Class → the name shown to users, in a traceback or as `type(error).__name__`: that of TensorFlow's class.
READ_AS = {
    InvalidInFunctionError: ValueError,
    DtypeError: InvalidArgumentError,
    DtypeInFunctionError: TypeError,
    SymbolicNumberError: TypeError,
    UnknownNameError: TypeError,
}


def name_as_read() -> None:
    """Give the classes of READ_AS the names that users see."""
    for kind, known in READ_AS.items():
        kind.__name__, kind.__qualname__, kind.__module__ = known.__name__, known.__qualname__, known.__module__


name_as_read()


def invalid(message: str) -> InvalidArgumentError:
    """Return an `InvalidArgumentError` with `message`; it is also a ValueError while a function is traced."""
    return (InvalidInFunctionError if hooks.core.tracing() else InvalidArgumentError)(None, None, message)


def of_op(message: str, type: str) -> str:
    """Return the message of an op's error: TensorFlow's words with the op, the advice, and under the door the kernel."""
    if "[Op:" in message:
        return message
    words, newline, advice = message.partition("\n")
    place, behind = ("", "") if hooks.core.tracing() else hooks.door.kernel(type)
    return f"{words} [Op:{type}]{behind}{newline}{advice}" + (f"\n{place}" if place else "")


def mark(error: OpError, type: str) -> None:
    """Add the op to an error's message, like `of_op`, and to `args`, which other libraries read."""
    error.message = of_op(error.message, type)
    error.args = (error.message,)


def invalid_for(type: str, message: str) -> InvalidArgumentError:
    """Return the error for an op with invalid inputs, like `invalid`; advice is on a second line of `message`."""
    return invalid(of_op(message, type))


def unmet(message: str) -> OpError:
    """Return a `FailedPreconditionError` with `message`; the same as `invalid` while a function is traced."""
    return invalid(message) if hooks.core.tracing() else FailedPreconditionError.saying(message)


def invalid_dtype(message: str) -> InvalidArgumentError:
    """Return the error for a wrong dtype, like `invalid`; it is also a TypeError while a function is traced."""
    return (DtypeInFunctionError if hooks.core.tracing() else InvalidArgumentError)(None, None, message)

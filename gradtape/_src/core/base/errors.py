"""TensorFlow's exception classes, and how the library makes them."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base import hooks

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

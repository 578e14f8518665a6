"""The assertions of `tf.test.TestCase`: arrays, shapes, dtypes, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from absl.testing import absltest

from gradtape._src.core.base.errors import InvalidArgumentError, OpError
from gradtape._src.core.base.extras import package
from gradtape._src.core.tensors.tensor import Stored, Tensor, is_symbolic_tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.device_spec import DeviceSpec
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.v1.graphs.ragged_value import RaggedTensorValue

RAGGED = (RaggedTensor, RaggedTensorValue)
# The tolerance of a dtype, as a parameter prefix of assertAllCloseAccordingToType.
_BY_DTYPE = {"float32": "float", "complex64": "float", "float16": "half", "bfloat16": "bfloat16"}
_INCOMPATIBLE = "[Ii]ncompatible shapes?|[Dd]imensions must be equal|broadcastable"


class Assertions(absltest.TestCase):
    """Assertions about tensors, arrays, numbers and structures of them, which are evaluated first."""

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors."""
        raise NotImplementedError

    def _GetNdArray(self, a: Any) -> np.ndarray:
        a = self._evaluated(a)
        if isinstance(a, np.ndarray):
            return a
        if isinstance(a, (list, tuple)):
            a = [self._evaluated(item) for item in a]
        array = np.array(a)
        return array.astype(np.bytes_) if array.dtype.kind == "U" else array

    def _evaluated(self, a: Any) -> Any:
        """Return the value of a tensor or variable, also of an eager tensor in a graph; any other object unchanged."""
        if isinstance(a, Tensor) and not is_symbolic_tensor(a):
            return a.numpy()
        return self.evaluate(a) if isinstance(a, (Tensor, Stored)) else a

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Fail unless two arrays, or structures of them, are equal within `atol + rtol * abs(b)`; NaN equals NaN."""
        a, b = [self._rows(x) if isinstance(x, RAGGED) else x for x in (a, b)]
        self._close(a, b, rtol, atol, msg, "")

    def _close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        a, b = _structured(a), _structured(b)
        said = "" if msg is None else str(msg)
        if isinstance(a, Mapping):
            self.assertIsInstance(b, Mapping, f"mismatched types: a{path} is a dict, b{path} is {type(b).__name__}. {said}")
            keys = f"mismatched keys: a{path} has keys {a.keys()}, but b{path} has keys {b.keys()}. {said}"
            self.assertCountEqual(a.keys(), b.keys(), keys)
            for key in a:
                self._close(a[key], b[key], rtol, atol, msg, f"{path}[{key}]")
            return
        if isinstance(a, (list, tuple)):
            try:
                self._arrays_close(a, b, rtol, atol, msg, path)
                return
            except (TypeError, ValueError):  # not an array, but a structure of arrays
                self.assertEqual(len(a), len(b), f"Mismatched length: a{path} has {len(a)} items, b{path} has {len(b)}. {said}")
                for i, (x, y) in enumerate(zip(a, b, strict=True)):
                    self._close(x, y, rtol, atol, msg, f"{path}[{i}]")
                return
        self._arrays_close(a, b, rtol, atol, msg, path)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        if a.dtype == object or b.dtype == object:
            raise TypeError("arrays of objects")
        shapes = f"Shape mismatch: expected {a.shape}, got {b.shape} with contents {b}."
        self.assertEqual(a.shape, b.shape, shapes if msg is None else f"{shapes} \n{msg}.")
        a, b = _comparable(a), _comparable(b)
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            lines = [f"Mismatched value: a{path} is different from b{path}. {msg or ''}"]
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg="\n".join(lines), equal_nan=True)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Fail if two arrays are equal within the tolerance in all elements."""
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {msg or ''}")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Fail unless `assertAllClose` holds with the widest tolerance of both dtypes."""
        given = {"float": (float_rtol, float_atol), "half": (half_rtol, half_atol), "bfloat16": (bfloat16_rtol, bfloat16_atol)}
        for array in (self._GetNdArray(a), self._GetNdArray(b)):
            wider = given.get(_BY_DTYPE.get(array.dtype.name, ""), (rtol, atol))
            rtol, atol = max(rtol, wider[0]), max(atol, wider[1])
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Fail unless two arrays have equal shapes and elements; NaN equals NaN. Ragged tensors must have equal rows."""
        if isinstance(a, RAGGED) or isinstance(b, RAGGED):
            ranks = [getattr(x, "ragged_rank", 0) for x in (a, b) if not isinstance(x, (list, tuple))]
            self.assertEqual(self._rows(a), self._rows(b), msg)
            self.assertEqual(ranks[0], ranks[-1], msg)
            return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        if a.dtype.kind == "S" or b.dtype.kind == "S":  # a tensor has strings as objects
            a, b = a.astype(object), b.astype(object)
        shapes = f"Shape mismatch: expected {a.shape}, got {b.shape}. Contents: {b!r}. "
        self.assertEqual(a.shape, b.shape, shapes if msg is None else f"{shapes}\n{msg}.")
        np.testing.assert_array_equal(_comparable(a), _comparable(b), "" if msg is None else str(msg))

    def _rows(self, a: Any) -> Any:
        """Return an argument of an assertion as nested lists, the rows of a ragged tensor too."""
        a = self.evaluate(a) if isinstance(a, RaggedTensor) else self._evaluated(a)
        return a.to_list() if isinstance(a, RaggedTensorValue) else np.array(a, dtype=object).tolist()

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Fail if two arrays are equal in all elements."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is greater than the target."""
        self.assertGreater(self._GetNdArray(a).min(), self._evaluated(comparison_target))

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is less than the target."""
        self.assertLess(self._GetNdArray(a).max(), self._evaluated(comparison_target))

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is greater than or equal to the target."""
        self.assertGreaterEqual(self._GetNdArray(a).min(), self._evaluated(comparison_target))

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless every element is less than or equal to the target."""
        self.assertLessEqual(self._GetNdArray(a).max(), self._evaluated(comparison_target))

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False, open_upper_bound: bool = False
    ) -> None:
        """Fail unless every element is between the bounds, which are included unless they are open."""
        values = self._GetNdArray(target)
        if values.dtype.kind not in "fiu" and values.dtype.name != "bfloat16":
            raise AssertionError(f"The value of {target} does not have an ordered numeric type, but {values.dtype}.")
        below = values <= lower_bound if open_lower_bound else values < lower_bound
        above = values >= upper_bound if open_upper_bound else values > upper_bound
        outside = np.argwhere(below | above | np.isnan(values))
        if len(outside):
            span = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
            shown = [f"  [{', '.join(map(str, at))}] : {values[tuple(at)]}" for at in outside[:10].tolist()]
            raise AssertionError(
                f"{len(outside)} of the {values.size} element(s) are outside the range {span}. Subscript(s) and value(s) of the "
                "offending elements:\n" + "\n".join(shown) + ("\n  ..." if len(outside) > 10 else "")
            )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Fail unless every element is in the set."""
        strange = np.setdiff1d(self._GetNdArray(target), list(expected_set))
        if strange.size:
            raise AssertionError(f"{strange.size} unique element(s) are not in the set {expected_set}: {strange}")

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: Any = None) -> None:
        """Fail unless two arrays or tensors have the same fully known shape; TypeError for anything else."""
        shapes = []
        for name, value in (("input_a", input_a), ("input_b", input_b)):
            if not isinstance(value, (np.ndarray, np.generic, Tensor)):
                raise TypeError(f"{name} must be a Numpy ndarray, Numpy scalar, or a Tensor. Instead received {type(value)}")
            shapes.append(value.get_shape().as_list() if isinstance(value, Tensor) else list(value.shape))
        self.assertAllEqual(shapes[0], shapes[1], msg=msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fail unless an array or tensor has this dtype, TensorFlow's or NumPy's."""
        received: Any = self._GetNdArray(target).dtype
        if isinstance(expected_dtype, dtypes.DType):
            received = dtypes.as_dtype(received)
        self.assertEqual(received, expected_dtype)

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Fail unless two numbers differ by at most `err`; both may be the same infinity."""
        text = f"{f1:f} != {f2:f} +/- {err:f} (difference: {abs(f1 - f2)}){'' if msg is None else f' ({msg})'}"
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, text)

    def assertArrayNear(self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: Any = None) -> None:
        """Fail unless corresponding numbers of two sequences differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """Fail unless the norm of the difference of two arrays is below `err`."""
        self.assertTrue(bool(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)) < err), msg=msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Fail unless two device names, in any spelling, are equal."""
        first, second = [DeviceSpec.from_string(str(device or "")).to_string() for device in (device1, device2)]
        self.assertEqual(first, second, f"Devices {first} and {second} are not equal. {msg}")

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, validate_message: Any, msg: Any = None, **options: Any
    ) -> None:
        """Fail unless a protobuf message equals another one, given as a message or in protobuf's text format."""
        expected = _message(expected_message_maybe_ascii, validate_message)
        if type(expected) is not type(validate_message):
            self.fail(f"The messages are of {type(expected)} and {type(validate_message)}. {msg or ''}")
        self.assertMultiLineEqual(str(expected), str(validate_message), msg)

    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # TensorFlow's, which takes a pattern, too
        self, expected_exception: Any, expected_regex_or_predicate: Any
    ) -> AbstractContextManager[Any]:
        """Open a context that fails unless it raises this error, and its text, or the error itself, matches."""
        return _Raises(self, expected_exception, expected_regex_or_predicate)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> AbstractContextManager[Any]:
        """Open a context that fails unless it raises an OpError with a matching message."""
        return _Raises(self, OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: Any = InvalidArgumentError) -> AbstractContextManager[Any]:
        """Open a context that fails unless it raises an error of incompatible shapes."""
        return _Raises(self, exception_type, _INCOMPATIBLE)


def _message(expected: Any, like: Any) -> Any:
    """Parse a protobuf text as a message of the class of `like`; return a message unchanged."""
    if not isinstance(expected, (str, bytes)):
        return expected
    return package("google.protobuf.text_format", "Messages as text").Parse(expected, type(like)())


class _Raises:
    """A context that must raise an error matching `wanted`, a pattern or a predicate."""

    def __init__(self, case: absltest.TestCase, kind: Any, wanted: str | Callable[[Any], Any]) -> None:
        self._case, self._kind, self._wanted = case, kind, wanted

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        if error is None:
            name = getattr(self._kind, "__name__", self._kind)
            self._case.fail(f"{name} not raised")
        if not isinstance(error, self._kind):
            return False
        text = error.message if isinstance(error, OpError) else str(error)
        fits = self._wanted(error) if callable(self._wanted) else re.search(self._wanted, text)
        if not fits:
            raise AssertionError(f"Exception of type {type(error)}: {text} does not match {self._wanted!r}") from error
        return True


def _structured(value: Any) -> Any:
    return value._asdict() if hasattr(value, "_asdict") else value


def _comparable(array: np.ndarray) -> np.ndarray:
    """Return an array with a dtype that NumPy can compare: float32 for half precision."""
    return array.astype(np.float32) if array.dtype.name in ("bfloat16", "float16") else array

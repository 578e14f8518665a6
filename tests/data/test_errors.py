"""What is wrong with a dataset is said in TensorFlow's words, at the user's line, with the number of the element."""

import traceback

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset
INT = tf.TensorSpec((), tf.int32)


def generated(*values, signature=INT):
    return D.from_generator(lambda: iter(values), output_signature=signature)


def drained(dataset):
    return list(dataset)


AT_ONCE = [
    (lambda: D.range(), ValueError, "The length of `args` should be between 1 and 3 but was 0"),
    (lambda: D.range(1, 2, 3, 4), ValueError, "The length of `args` should be between 1 and 3 but was 4"),
    (lambda: D.range(1.5), TypeError, "range must be an integer, received 1.5"),
    (lambda: D.range(1, 2, 0), tf.errors.InvalidArgumentError, "step must be a non-zero integer"),
    (lambda: D.from_tensors(()), tf.errors.InvalidArgumentError, "there must be at least one tensor"),
    (lambda: D.from_tensor_slices(()), ValueError, "`element` should not be empty"),
    (lambda: D.from_tensor_slices(3), ValueError, "Unbatching a tensor is only supported for rank >= 1"),
    (lambda: D.from_tensor_slices(([1, 2, 3], [1, 2])), ValueError, "Dimensions 3 and 2 are not compatible"),
    (lambda: D.from_tensors(object()), ValueError, "unsupported type"),
    (lambda: D.zip(), TypeError, "Must pass at least one dataset to `zip`"),
    (lambda: D.zip([D.range(1)]), TypeError, "`list` is not supported and you should use `tuple` instead"),
    (lambda: D.zip(D.range(1), datasets=(D.range(1),)), TypeError, r"Both `\*args` and `datasets` cannot be set"),
    (lambda: D.zip((D.range(1), 3)), TypeError, "encountered object of type <class 'int'>"),
    (lambda: D.range(2).concatenate(D.from_tensors(1.0)), TypeError, "Incompatible dataset elements"),
    (lambda: D.range(2).concatenate(D.from_tensors((1, 1))), TypeError, "Incompatible dataset elements"),
    (lambda: D.range(5).batch(0), tf.errors.InvalidArgumentError, "Batch size must be greater than zero, received 0"),
    (lambda: D.range(5).shuffle(0), tf.errors.InvalidArgumentError, "buffer_size must be greater than zero"),
    (lambda: D.range(5).prefetch(-2), tf.errors.InvalidArgumentError, "buffer_size must be >= 0 or set buffer_size to be -1"),
    (lambda: D.range(5).shard(3, 3), tf.errors.InvalidArgumentError, r"Index must be between 0 and 2 \(currently index = 3\)"),
    (lambda: D.range(5).shard(0, 0), tf.errors.InvalidArgumentError, "Number of shards must be greater than zero"),
    (lambda: D.range(5).window(0), tf.errors.InvalidArgumentError, "Window size must be greater than zero"),
    (lambda: D.range(5).window(1, 0), tf.errors.InvalidArgumentError, "Window shift must be greater than zero"),
    (lambda: D.range(5).map(abs, num_parallel_calls=0), tf.errors.InvalidArgumentError, "num_parallel_calls must be greater"),
    (lambda: D.range(5).interleave(abs, cycle_length=0), tf.errors.InvalidArgumentError, "cycle_length must be greater"),
    (lambda: D.range(5).map(3), ValueError, "`func` must be a callable. Received func=3"),
    (lambda: D.range(5).apply(lambda d: 3), TypeError, r"must return a `tf.data.Dataset` object\. Got <class 'int'>"),
    (lambda: D.range(5).unbatch().element_spec, ValueError, "Cannot unbatch an input with scalar components"),
    (lambda: D.range(0).get_single_element(), tf.errors.InvalidArgumentError, "Dataset was empty"),
    (lambda: D.range(2).get_single_element(), tf.errors.InvalidArgumentError, "Dataset had more than one element"),
    (lambda: D.sample_from_datasets([]), ValueError, "`datasets` should not be empty"),
    (lambda: D.sample_from_datasets([D.range(1)], weights=[0.5, 0.5]), ValueError, "should have the same length as `datasets`"),
    (lambda: D.sample_from_datasets([D.range(1)], weights=[-1.0]), ValueError, "`weights` must be at least 0"),
    (lambda: D.from_generator(lambda: iter([1])), TypeError, "either the `output_signature` argument or the `output_types`"),
    (lambda: D.from_generator(abs, tf.int32, output_signature=INT), TypeError, "`output_types` argument can not be used"),
    (lambda: D.from_generator([1], tf.int32), TypeError, "`generator` must be a Python callable"),
    (lambda: D.from_generator(abs, output_signature=3), TypeError, "found <class 'int'> which is not"),
    (lambda: generated(1, signature=tf.TensorSpec(None)).padded_batch(2), ValueError, "You must provide `padded_shapes`"),
    (lambda: D.from_tensor_slices(([0, 1], None)).padded_batch(2), TypeError, "is not a subclass of TensorSpec: `NoneTensorSpec"),
    (lambda: D.range(3).padded_batch(2, padding_values=1.5), TypeError, "does not match type <dtype: 'int64'>"),
    (lambda: D.range(0).map(lambda x: x.numpy()).element_spec, ValueError, "needs values, and there are no elements"),
    (
        lambda: D.range(0).group_by_window(lambda x: x, lambda key, group: group.batch(int(key)), 2).element_spec,
        ValueError,
        r"passed to Dataset.group_by_window\(\) needs values, and there are no elements",
    ),
    (
        lambda: D.range(0).rejection_resample(lambda x: int(x.numpy()), [0.5, 0.5]).element_spec,
        ValueError,
        r"passed to Dataset.rejection_resample\(\) needs values, and there are no elements",
    ),
]  # fmt: skip


@pytest.mark.parametrize("call, error, message", AT_ONCE)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def of_lengths(*lengths):
    return D.from_tensor_slices(list(lengths)).map(lambda n: tf.ones([n]))


WHEN_RUN = [
    (lambda: of_lengths(1, 2).batch(2), tf.errors.InvalidArgumentError,
     r"number of elements does not match\. Shapes are: \[tensor\]: \[2\], \[batch\]: \[1\]"),
    (lambda: generated(np.ones((2, 3)), np.ones((3, 2)), signature=tf.TensorSpec(None)).batch(2), tf.errors.InvalidArgumentError,
     r"different shapes in component 0\. First element had shape \[2,3\] and element 1 had shape \[3,2\]"),
    (lambda: D.range(2).map(lambda x: x if x == 0 else (x, x)).batch(2), tf.errors.InvalidArgumentError, "different structures"),
    (lambda: D.range(2).map(lambda x: 1 if x == 0 else 1.5).batch(2), tf.errors.InvalidArgumentError, "is int32, element 1"),
    (lambda: D.range(3).map(tf.experimental.Optional.from_value).batch(2), TypeError, "spec OptionalSpec.* cannot be batched"),
    (lambda: D.range(3).map(lambda x: tf.TensorArray(tf.int64, 2, element_shape=[])).batch(2), TypeError, "cannot be batched"),
    (lambda: D.from_tensors(D.range(3)).unbatch(), ValueError, "Cannot unbatch an input with scalar components"),
    (lambda: D.from_tensors(([1], [2])).sparse_batch(1, [2]), TypeError, "elements have a single component"),
    (lambda: D.from_tensors([1]).sparse_batch(1, [-2]), ValueError, "Dimension -2 must be >= 0"),
    (lambda: D.from_tensors([[1]]).sparse_batch(1, [2]), tf.errors.InvalidArgumentError, "incompatible with the row shape"),
    (lambda: of_lengths(1, 3).sparse_batch(2, [2]), tf.errors.DataLossError, r"\[3\]\) that is larger than the row shape \(\[2"),
    (lambda: of_lengths(1, 2).padded_batch(2, padded_shapes=[1]), tf.errors.DataLossError, "pad to a smaller size than"),
    (lambda: of_lengths(1).padded_batch(1, padded_shapes=[1, 1]), ValueError, "with the shape .* of the corresponding"),
    (lambda: D.range(2).unbatch(), ValueError, "Cannot unbatch an input with scalar components"),
    (lambda: D.from_tensors(0).map(lambda x: (tf.range(tf.constant(2) + 0), [x])).unbatch(), ValueError, r"sizes: \[1, 2\]"),
    (lambda: D.range(2).map(lambda x: object()), TypeError, r"Unsupported return value from function passed to Dataset\.map\(\)"),
    (lambda: D.range(2).filter(lambda x: x), ValueError, r"must return a `tf\.bool` scalar tensor, but its return type is Tens"),
    (lambda: D.range(2).take_while(lambda x: [x > 1, x > 1]), ValueError, "Invalid `predicate`"),
    (lambda: D.range(2).flat_map(lambda x: x), TypeError, r"Dataset\.flat_map\(\) must return a `tf\.data\.Dataset`"),
    (lambda: D.range(2).interleave(lambda x: x), TypeError, r"Dataset\.interleave\(\) must return a `tf\.data\.Dataset`"),
    (lambda: D.range(2).scan(np.int64(0), lambda s, x: s), TypeError, "should return a pair"),
    (lambda: D.range(2).scan(0, lambda s, x: (x, x)), TypeError, "Expected <dtype: 'int32'>, got <dtype: 'int64'>"),
    (lambda: D.range(2).reduce(np.int64(0), lambda s, x: (s, x)), TypeError, "must match the initial state"),
    (lambda: D.range(2).reduce(0, lambda s, x: s + x), TypeError, "cannot compute AddV2"),
    (lambda: D.from_tensor_slices([1.0]).unique(), TypeError, "only `tf.int32`, `tf.int64`, and `tf.string` are supported"),
    (lambda: D.from_tensors((1, 1)).unique(), tf.errors.InvalidArgumentError, "only supports inputs with a single component"),
    (lambda: D.choose_from_datasets([D.range(3)], D.range(2)), tf.errors.InvalidArgumentError, "index out of range: 1 >= 1"),
    (lambda: D.range(1).map(lambda x: x).concatenate(D.from_tensors(1.0)), TypeError, "Incompatible dataset elements"),
    (lambda: generated([1, 2], signature=tf.TensorSpec((3,))), tf.errors.InvalidArgumentError,
     r"an element of shape \(2,\) where an element of shape \(3,\) was expected \(element 0\)"),
    (lambda: generated(1, [2]), tf.errors.InvalidArgumentError, r"of shape \(1,\) .* of shape \(\) was expected \(element 1\)"),
    (lambda: generated("a"), tf.errors.InvalidArgumentError, "The expected type was int32, but the yielded element was a"),
    (lambda: generated((1, 2, 3), signature=(INT, INT)), tf.errors.InvalidArgumentError, "did not match the expected structure"),
    (lambda: generated([1, 2], signature=(INT, INT)), tf.errors.InvalidArgumentError, r"the yielded element was \[1, 2\]"),
    (lambda: generated({"a": 1}, signature={"b": INT}), tf.errors.InvalidArgumentError, "did not match the expected structure"),
]  # fmt: skip


@pytest.mark.parametrize("make, error, message", WHEN_RUN)
def test_bad_elements(make, error, message):
    with pytest.raises(error, match=message):
        drained(make())


KINDS = [
    (ValueError("no"), tf.errors.InvalidArgumentError),
    (TypeError("no"), tf.errors.InvalidArgumentError),
    (RuntimeError("no"), tf.errors.UnknownError),
    (KeyError("no"), tf.errors.UnknownError),
    (MemoryError("no"), tf.errors.ResourceExhaustedError),
    (NotImplementedError("no"), tf.errors.UnimplementedError),
    (tf.errors.NotFoundError(None, None, "no"), tf.errors.NotFoundError),
]


def failing(error):
    def function(x):
        if x == 2:
            raise error  # the line of the user's function
        return x

    return function


def failing_generator(error):
    def generator():
        yield from (1, 2)
        raise error  # the line of the user's function

    return generator


PIPELINES = {
    "map": lambda error: D.range(5).map(failing(error)),
    "map in threads": lambda error: D.range(5).map(failing(error), num_parallel_calls=2),
    "map ahead of time": lambda error: D.range(5).map(failing(error)).batch(1).prefetch(2),
    "filter": lambda error: D.range(5).filter(lambda x: failing(error)(x) >= 0),
    "interleave": lambda error: D.range(5).interleave(lambda x: D.from_tensors(failing(error)(x)), cycle_length=1),
    "generator": lambda error: D.from_generator(failing_generator(error), output_signature=INT),
    "generator ahead of time": lambda error: D.from_generator(failing_generator(error), output_signature=INT).prefetch(1),
}


@pytest.mark.parametrize("error, kind", KINDS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
def test_a_function_that_fails(make, error, kind):
    seen = []
    with pytest.raises(kind, match=r"on element 2: .*no") as caught:
        for element in make(error):  # the line to blame
            seen += [int(tf.squeeze(element))]
    assert len(seen) == 2
    assert caught.value.__cause__ is error
    shown = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert shown[-1] == "for element in make(error):  # the line to blame"
    assert "raise error  # the line of the user's function" in [f.line for f in traceback.extract_tb(error.__traceback__)]


def outcomes(dataset):
    """What asking for each element comes to, to the end: a value, or the name of an error."""
    iterator, found = iter(dataset), []
    while True:
        try:
            found.append(tf.nest.map_structure(lambda x: x.numpy().tolist(), next(iterator)))
        except StopIteration:
            return found
        except Exception as error:
            found.append(type(error).__name__)


BAD = "InvalidArgumentError"


def checked(*values):
    return D.from_tensor_slices(np.array(values, np.float32)).map(lambda x: tf.debugging.check_numerics(x, "no"))


def sequence():
    yield from ([1], [2, 2], [3])


GO_ON = {  # as TensorFlow 2.21 goes on
    "map": (lambda d: d, [1, 2, 3, BAD, 5]),
    "map in threads": (lambda d: d.map(tf.identity, num_parallel_calls=2), [1, 2, 3, BAD, 5]),
    "prefetch": (lambda d: d.prefetch(2), [1, 2, 3, BAD, 5]),
    "batch": (lambda d: d.batch(2), [[1, 2], BAD, [5]]),
    "padded_batch": (lambda d: d.map(lambda x: x[None]).padded_batch(2), [[[1], [2]], BAD, [[5]]]),
    "filter": (lambda d: d.filter(lambda x: x > 1), [2, 3, BAD, 5]),
    "take": (lambda d: d.take(4), [1, 2, 3, BAD, 5]),
    "skip": (lambda d: d.skip(4), [BAD]),
    "repeat": (lambda d: d.repeat(2), [1, 2, 3, BAD, 5, 1, 2, 3, BAD, 5]),
    "concatenate": (lambda d: d.concatenate(d.take(4)), [1, 2, 3, BAD, 5, 1, 2, 3, BAD, 5]),
    "zip": (lambda d: D.zip((d, D.range(5))), [(1, 0), (2, 1), (3, 2), BAD, (5, 4)]),
    "enumerate": (lambda d: d.enumerate(), [(0, 1), (1, 2), (2, 3), BAD, (4, 5)]),
    "scan": (lambda d: d.scan(0.0, lambda s, x: (s + x, s)), [0, 1, 3, BAD, 6]),
    "flat_map": (lambda d: d.flat_map(D.from_tensors), [1, 2, 3, BAD, 5]),
    "interleave": (lambda d: d.interleave(D.from_tensors, 2, 3), [1, 2, 3, BAD, 5]),
    "unbatch": (lambda d: d.map(lambda x: x[None]).unbatch(), [1, 2, 3, BAD, 5]),
    "window": (lambda d: d.window(2, 2, 2, drop_remainder=True).flat_map(lambda x: x.batch(2)), [[1, 3], [3, 5]]),
    "cache": (lambda d: d.cache(), [1, 2, 3, BAD, 5]),
    "a generator": (lambda d: D.from_generator(sequence, tf.int32, output_shapes=[1]), [[1], BAD, [3]]),
    "a generator that failed": (lambda d: D.from_generator(failing_generator(ValueError("no")), tf.int32), [1, 2, BAD]),
}


@pytest.mark.parametrize("change, expected", GO_ON.values(), ids=GO_ON)
def test_iterators_go_on_after_an_error(change, expected):
    assert outcomes(change(checked(1, 2, 3, np.nan, 5))) == expected


def test_what_is_sure_to_be_wrong_is_said_when_the_dataset_is_made():
    """With the classes of TensorFlow, which traces the function there."""
    two = D.zip((D.range(3), D.range(3)))
    for make, error in [
        (lambda: D.range(3).map(lambda x, y: x), TypeError),
        (lambda: two.map(lambda x: x), TypeError),
        (lambda: D.range(3).map(lambda x: x + tf.constant(1.0)), TypeError),
        (lambda: D.range(3).map(lambda x: tf.reshape(x, [2])), ValueError),
        (lambda: D.range(3).map(lambda x: undefined_name), NameError),  # noqa: F821
        (lambda: D.range(3).map(lambda x: object), TypeError),
        (lambda: D.range(3).filter(lambda x: x), ValueError),
        (lambda: D.range(3).take_while(lambda x: [x > 1]), ValueError),
        (lambda: D.range(3).flat_map(lambda x: (x, x)), TypeError),
        (lambda: D.range(3).scan(np.int64(0), lambda s, x: s), TypeError),
        (lambda: D.range(3).scan(0, lambda s, x: (x, x)), TypeError),
    ]:
        with pytest.raises(error):
            make()


def test_stop_iteration_in_a_function_is_an_error_and_not_the_end():
    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 2: StopIteration"):
        drained(D.range(5).map(failing(StopIteration())))
    with pytest.raises(tf.errors.UnknownError, match="on element 2: RuntimeError: generator raised StopIteration"):
        drained(D.from_generator(failing_generator(StopIteration()), output_signature=INT))


def test_as_numpy_iterator_of_windows():
    with pytest.raises(TypeError, match=r"`tf\.data\.Dataset\.as_numpy_iterator\(\)` is not supported for datasets that produce"):
        next(D.range(3).window(2).as_numpy_iterator())


def test_a_number_of_numpys_may_be_a_float_as_on_tensorflow():
    assert [len(drained(D.range(3).repeat(np.float64(number)))) for number in (2.0, 2.5)] == [6, 6]
    with pytest.raises(TypeError, match="count must be an integer, received 2"):
        D.range(3).repeat(2.0)

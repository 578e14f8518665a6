"""Groups, buckets, classes, `Optional`, options: what several elements together give. Numbers are TensorFlow 2.21's."""

import sys

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset


def plain(dataset):
    return [tf.nest.map_structure(lambda x: x.tolist(), element) for element in dataset.as_numpy_iterator()]


def lengths(*wanted):
    return D.from_generator(lambda: ([n] * n for n in wanted), tf.int64, output_shapes=[None])


class TestGroupByWindow:
    def test_groups_come_when_they_are_full_and_the_rest_in_the_order_of_keys(self):
        numbers = D.from_tensor_slices(np.int64([0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]))
        dataset = numbers.group_by_window(lambda x: x % 2, lambda key, group: group.batch(4), 4)
        assert plain(dataset) == [[0] * 4, [1] * 4, [0] * 3, [1]]
        assert dataset.element_spec == tf.TensorSpec([None], tf.int64)
        assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY

    def test_sizes_by_key(self):
        sizes = tf.constant([2, 3], tf.int64)
        dataset = D.range(7).group_by_window(lambda x: x % 2, lambda k, g: g.batch(9), window_size_func=lambda k: sizes[k])
        assert plain(dataset) == [[0, 2], [1, 3, 5], [4, 6]]

    def test_what_is_wrong(self):
        both = {"window_size": 1, "window_size_func": lambda k: k}
        for arguments, error in [({}, ValueError), (both, ValueError), ({"window_size": 0}, tf.errors.InvalidArgumentError)]:
            with pytest.raises(error):
                plain(D.range(3).group_by_window(lambda x: x, lambda k, g: g, **arguments))


class TestBucketBySequenceLength:
    def test_batches_are_padded_to_their_longest(self):
        dataset = lengths(1, 4, 3, 2, 5).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 1])
        assert plain(dataset) == [[[4] * 4, [3, 3, 3, 0]], [[1, 0], [2, 2]], [[5] * 5]]
        assert dataset.element_spec == tf.TensorSpec([None, None], tf.int64)

    def test_batches_are_padded_to_their_boundary(self):
        dataset = lengths(1, 2, 3).bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
        )
        assert plain(dataset) == [[[1, 0], [2, 2]], [[3, 3, 3, 0, 0]]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"elements must have length < max\(bucket_boundaries\)"):
            plain(lengths(9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 2], pad_to_bucket_boundary=True))

    def test_there_is_one_size_more_than_boundaries(self):
        with pytest.raises(ValueError, match="must equal"):
            lengths(1).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2])


def test_rejection_resample_brings_classes_to_the_target():
    for initial in ([0.5, 0.5], None):
        dataset = D.range(4000).rejection_resample(lambda x: x % 2, [0.9, 0.1], initial, seed=3)
        pairs = plain(dataset)
        assert all(label == value % 2 for label, value in pairs)
        assert abs(np.mean([label for label, _ in pairs]) - 0.1) < 0.02
        assert pairs == plain(dataset)


def test_a_class_that_needs_values_is_asked_of_the_first_element():
    def resampled():
        return D.range(8).shuffle(8, seed=1).rejection_resample(lambda x: int(x.numpy()) % 2, [0.5, 0.5], [0.5, 0.5], seed=1)

    dataset, other = resampled(), resampled()
    assert [spec.dtype for spec in dataset.element_spec] == [tf.int32, tf.int64]
    assert [list(map(int, pair)) for pair in dataset] == [list(map(int, pair)) for pair in other]


def test_ignore_errors_leaves_out_what_fails():
    dataset = D.from_tensor_slices([1.0, 2.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "no"))
    assert plain(dataset.ignore_errors()) == [1.0, 0.5, 0.25]


def test_random_numbers():
    numbers = plain(D.random(seed=4).take(50))
    assert numbers == plain(D.random(seed=4).take(50)) and len(set(numbers)) == 50
    assert min(numbers) >= 0 and 2**31 < max(numbers) < 2**32


def test_a_map_that_prints_and_draws_does_so_for_each_element_in_its_order(capsys):
    def element(i):
        tf.print("element", i, output_stream=sys.stdout)
        return tf.random.uniform([], seed=5)

    tf.random.set_seed(3)
    dataset = D.range(4).map(element)
    passes = [[float(x) for x in dataset] for _ in range(2)]
    np.testing.assert_allclose(passes, [[0.39766920, 0.92530179, 0.94872642, 0.31516445]] * 2, rtol=1e-6)  # TensorFlow's
    assert capsys.readouterr().out.split("\n")[:-1] == [f"element {i}" for i in range(4)] * 2


def test_random_ops_with_a_seed_give_the_same_in_each_pass():
    dataset = D.range(5).map(lambda x: tf.random.uniform([], seed=11))
    first = plain(dataset)
    assert first == plain(dataset) and len(set(first)) == 5
    assert plain(D.range(5).map(lambda x: tf.random.uniform([]))) != plain(D.range(5).map(lambda x: tf.random.uniform([])))


SAMPLED = {
    "zero weights": (lambda: D.sample_from_datasets([D.range(2), D.range(9)], [0.0, 0.0]), []),
    "weights of a dataset": (
        lambda: D.sample_from_datasets([D.range(2), D.range(5, 7)], D.from_tensors([0.0, 1.0]).repeat(), None, True),
        [5, 6],
    ),
    "a tensor of weights": (lambda: D.sample_from_datasets([D.range(2), D.range(5, 7)], tf.constant([1.0, 0.0])), [0, 1]),
    "the only element of windows": (
        lambda: D.range(4).window(2).flat_map(lambda window: D.from_tensors(window.batch(2).get_single_element())),
        [[0, 1], [2, 3]],
    ),
    "the sums of windows": (
        lambda: D.range(4).window(2).map(lambda window: window.reduce(np.int64(0), lambda s, x: s + x)),
        [1, 5],
    ),
    "rows of windows whose elements have several lengths": (
        lambda: (
            D.range(1, 4)
            .map(lambda n: tf.fill([n], n))
            .window(2)
            .flat_map(lambda window: window.ragged_batch(2).map(lambda rows: tf.reduce_sum(rows.to_tensor(), 0)))
        ),
        [[3, 2], [3, 3, 3]],
    ),
    "zip of one": (lambda: D.zip(D.range(2)), [0, 1]),
    "slices of a range": (lambda: D.from_tensor_slices(range(3)), [0, 1, 2]),
}


@pytest.mark.parametrize("make, expected", SAMPLED.values(), ids=SAMPLED)
def test_elements(make, expected):
    assert plain(make()) == expected


def test_as_long_as_one_of_them_has_no_end_the_choice_has_none():
    endless = D.range(3).repeat()
    for dataset in (D.sample_from_datasets([endless, D.range(3)]), D.choose_from_datasets([endless, D.range(3)], D.range(2))):
        assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY


T = D.from_tensors
WRONG = [
    (lambda: D.choose_from_datasets([T(0)], T(1.0)), TypeError),
    (lambda: D.choose_from_datasets([T(0)], T([1])), TypeError),
    (lambda: D.choose_from_datasets([T(0)], None), TypeError),
    (lambda: D.choose_from_datasets([T(0), T(1.0)], D.range(2)), TypeError),
    (lambda: D.sample_from_datasets([T(0), T(1.0)]), TypeError),
    (lambda: D.sample_from_datasets([T(0), T(1)], [1, 1]), TypeError),
    (lambda: D.sample_from_datasets([T(0), T(1)], [[0.5, 0.5]]), ValueError),
    (lambda: T((1, 2)).unique(), tf.errors.InvalidArgumentError),
    (lambda: T(1.0).unique(), TypeError),
    (lambda: T((np.arange(7), np.arange(8))).unbatch(), ValueError),
    (lambda: D.range(9).padded_batch(5, [1]), ValueError),
    (lambda: T([1, 2, 3]).padded_batch(5, [1]), ValueError),
    (lambda: T([1, 2, 3]).padded_batch(5, tf.constant([1.5, 2.0])), TypeError),
    (lambda: T([1, 2, 3]).padded_batch(5, [[1, 1], [1, 1]]), ValueError),
    (lambda: D.range(9).take(tf.constant(3)), ValueError),
    (lambda: D.range(9).skip(1.5), TypeError),
    (lambda: D.range(9).window(2).as_numpy_iterator(), TypeError),
    (lambda: tf.function(lambda: D.range(9).as_numpy_iterator())(), RuntimeError),
    (lambda: D.range(3).interleave(T, 2, num_parallel_calls=3), tf.errors.InvalidArgumentError),
]


@pytest.mark.parametrize("make, error", WRONG)
def test_what_is_wrong_is_said_at_once(make, error):
    with pytest.raises(error):
        make()


def test_padding_values_may_be_none_for_a_part():
    dataset = D.range(1, 3).map(lambda n: (tf.fill([n], n), {"a": tf.fill([n], 1.0)}))
    assert plain(dataset.padded_batch(2, padding_values=(np.int64(-1), None))) == [([[1, -1], [2, 2]], {"a": [[1, 0], [1, 1]]})]


class TestOptional:
    def test_value(self):
        some = tf.experimental.Optional.from_value({"a": 37.0, "b": ([1], 2)})
        assert some.has_value().numpy() and some.get_value()["b"][0].numpy().tolist() == [1]
        assert some.element_spec["b"][0] == tf.TensorSpec([1], tf.int32)
        none = tf.experimental.Optional.empty(tf.TensorSpec([], tf.float32))
        assert not none.has_value().numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            none.get_value()

    def test_of_an_iterator(self):
        iterator = iter(D.range(2))
        found = [iterator.get_next_as_optional() for _ in range(4)]
        assert [bool(o.has_value()) for o in found] == [True, True, False, False]
        assert [int(o.get_value()) for o in found[:2]] == [0, 1]
        assert found[3].element_spec == tf.TensorSpec([], tf.int64)

    def test_in_a_function(self):
        @tf.function
        def total(iterator):
            result = tf.constant(0, tf.int64)
            element = iterator.get_next_as_optional()
            while element.has_value():
                result += element.get_value()
                element = iterator.get_next_as_optional()
            return result

        assert total(iter(D.range(5))).numpy() == 10

    def test_gradients_pass_through(self):
        x = tf.Variable(3.0)
        with tf.GradientTape() as tape:
            y = tf.experimental.Optional.from_value(x * 2).get_value() * x
        assert tape.gradient(y, x).numpy() == 12.0


class TestOptions:
    def test_types_are_checked(self):
        options = tf.data.Options()
        for name, value in [("deterministic", 3), ("threading", 3), ("dataset_name", 1), ("experimental_slack", None)]:
            with pytest.raises(TypeError, match=f'Property "{name}" must be of type'):
                setattr(options, name, value)
        with pytest.raises(TypeError, match="got: a"):
            options.threading.private_threadpool_size = "a"
        with pytest.raises(TypeError, match="Only options of one type can be merged"):
            options.merge(3)

    def test_those_of_a_dataset_cannot_be_set(self):
        options = tf.data.Options()
        options.autotune.enabled = True
        found = D.range(3).with_options(options).map(lambda x: x).options()
        assert found == options
        for change in (
            lambda: setattr(found, "deterministic", True),
            lambda: setattr(found.threading, "private_threadpool_size", 1),
        ):
            with pytest.raises(ValueError, match=r"Mutating `tf\.data\.Options\(\)`"):
                change()

    def test_a_dataset_of_several_has_those_of_all(self):
        one, other = tf.data.Options(), tf.data.Options()
        one.deterministic, other.experimental_distribute.auto_shard_policy = False, tf.data.experimental.AutoShardPolicy.DATA
        found = D.zip((D.range(1).with_options(one), D.range(1).with_options(other))).options()
        assert found.deterministic is False and found.experimental_distribute.auto_shard_policy.name == "DATA"
        assert tf.data.Options().experimental_distribute.auto_shard_policy.name == "AUTO"

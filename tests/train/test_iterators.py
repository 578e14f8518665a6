"""Iterators of datasets on a checkpoint: they go on from where they were, as the guides of checkpoints and tf.data do."""

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset


def left(iterator):
    return [item.numpy().tolist() for item in iterator]


def failing(x):
    tf.debugging.assert_none_equal(x, 2)
    return x


DATASETS = {
    "numbers": lambda: D.range(8),
    "batches": lambda: D.from_tensor_slices(np.arange(9.0)).map(lambda x: x * 2).batch(2),
    "shuffled": lambda: D.range(5).shuffle(5, seed=3).repeat(3).batch(2),
    "shuffled, no seed": lambda: D.range(5).shuffle(3).repeat(3).batch(2),
    "prefetched": lambda: D.range(5).shuffle(3).repeat(3).prefetch(2).shuffle(2),
    "parallel": lambda: D.range(9).map(lambda x: x + 1, num_parallel_calls=3).filter(lambda x: x > 2),
    "generator": lambda: D.from_generator(lambda: iter(range(7)), tf.int32),
    "sampled": lambda: D.sample_from_datasets([D.range(9), D.range(20, 29)], [0.5, 0.5]),
}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("given", [1, 3])
def test_goes_on_from_its_place(name, given, tmp_path):
    dataset = DATASETS[name]()
    iterator = iter(dataset)
    for _ in range(given):
        next(iterator)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.save(tmp_path / "ckpt")
    assert tf.train.list_variables(path)[1][0] == "iterator/.ATTRIBUTES/ITERATOR_STATE"
    after = left(iterator)
    checkpoint.restore(path).assert_consumed()
    assert left(iterator) == after
    another = iter(dataset)
    next(another)
    tf.train.Checkpoint(iterator=another).restore(path)
    assert left(another) == after


def test_an_element_that_failed_is_passed_over(tmp_path):
    iterator = iter(D.range(5).map(failing))
    taken = [next(iterator).numpy(), next(iterator).numpy()]
    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 2"):
        next(iterator)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.write(tmp_path / "ckpt")
    assert (taken, left(iterator)) == ([0, 1], [3, 4])
    checkpoint.read(path)
    assert left(iterator) == [3, 4]


def test_what_does_not_match(tmp_path):
    path = tf.train.Checkpoint(step=tf.Variable(1)).write(tmp_path / "without")
    status = tf.train.Checkpoint(step=tf.Variable(2), iterator=iter(D.range(2))).read(path)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()
    path = tf.train.Checkpoint(iterator=iter(D.range(2))).write(tmp_path / "with")
    with pytest.raises(AssertionError, match=r"iterator/\.ATTRIBUTES/ITERATOR_STATE"):
        tf.train.Checkpoint().read(path).assert_consumed()


def test_generators_of_random_numbers(tmp_path):
    generator = tf.random.Generator.from_seed(1)
    checkpoint = tf.train.Checkpoint(generator=generator)
    path = checkpoint.write(tmp_path / "ckpt")
    assert tf.train.list_variables(path)[1:] == [("generator/_state_var/.ATTRIBUTES/VARIABLE_VALUE", [3])]
    before = generator.normal([2]).numpy()
    checkpoint.read(path).assert_consumed()
    np.testing.assert_array_equal(generator.normal([2]), before)

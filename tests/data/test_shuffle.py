"""Random orders: reproducible from their seeds, another one in each pass where TensorFlow has another one."""

import pytest

import gradtape as tf

D = tf.data.Dataset


def elements(dataset):
    return [int(element) for element in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("make", [lambda: D.range(20), lambda: D.range(20).map(lambda x: x)], ids=["rows", "elements"])
class TestShuffle:
    @pytest.mark.parametrize("size", [1, 2, 7, 20, 100, tf.data.UNKNOWN_CARDINALITY])
    def test_gives_each_element_once(self, make, size):
        order = elements(make().shuffle(size, seed=1))
        assert sorted(order) == list(range(20))
        assert (order == list(range(20))) == (size == 1)

    @pytest.mark.parametrize("size", [2, 5])
    def test_an_element_comes_from_the_buffer(self, make, size):
        order = elements(make().shuffle(size, seed=4))
        assert all(element < place + size for place, element in enumerate(order))
        assert any(element == place + size - 1 for place, element in enumerate(order))

    def test_a_seed_gives_the_same_orders_again(self, make):
        first, second = make().shuffle(20, seed=3), make().shuffle(20, seed=3)
        orders = [elements(first) for _ in range(3)]
        assert orders == [elements(second) for _ in range(3)]
        assert len({tuple(order) for order in orders}) == 3  # each pass has another order
        assert elements(make().shuffle(20, seed=4)) != orders[0]

    def test_the_order_stays_if_asked_to(self, make):
        dataset = make().shuffle(20, seed=3, reshuffle_each_iteration=False)
        assert elements(dataset) == elements(dataset)
        twice = elements(dataset.repeat(2))
        assert twice[:20] == twice[20:]

    def test_a_repeat_has_another_order_in_each_pass(self, make):
        first = elements(make().shuffle(20, seed=3))
        twice = elements(make().shuffle(20, seed=3).repeat(2))
        assert twice[:20] == first
        assert twice[20:] != first and sorted(twice[20:]) == sorted(first)

    def test_the_global_seed_counts_where_there_is_no_other(self, make):
        orders = []
        for _ in range(2):
            tf.random.set_seed(5)
            orders.append([elements(make().shuffle(20)), elements(make().shuffle(20))])
        assert orders[0] == orders[1]
        assert orders[0][0] != orders[0][1]

    def test_without_seeds_orders_differ(self, make):
        assert len({tuple(elements(make().shuffle(20))) for _ in range(4)}) == 4

    def test_the_first_place_goes_to_each_about_as_often(self, make):
        dataset = D.range(4).shuffle(4, seed=0)
        counts = [0] * 4
        for _ in range(400):
            counts[elements(dataset)[0]] += 1
        assert all(60 < count < 140 for count in counts)  # 100 on average, standard deviation 8.7

    def test_numbers_stay_with_their_rows(self, make):
        pairs = D.from_tensor_slices(([1, 2, 3, 4], [10, 20, 30, 40])).shuffle(4, seed=2).batch(2)
        assert all((y == 10 * x).all() for x, y in pairs.as_numpy_iterator())


def test_sampling_follows_the_weights():
    dataset = D.sample_from_datasets([D.range(1000), D.range(1000, 2000)], weights=[0.2, 0.8], seed=3).take(500)
    order = elements(dataset)
    low = [element for element in order if element < 1000]
    assert low == sorted(low)
    assert 60 < len(low) < 140  # 100 on average, standard deviation 9
    assert order == elements(dataset)


@pytest.mark.parametrize("stop, counts", [(True, None), (False, 8)])
def test_sampling_ends_with_the_first_or_the_last(stop, counts):
    dataset = D.sample_from_datasets([D.range(3), D.range(10, 15)], seed=1, stop_on_empty_dataset=stop)
    order = elements(dataset)
    if counts:
        assert sorted(order) == [0, 1, 2, 10, 11, 12, 13, 14]
    else:
        assert len([e for e in order if e < 9]) == 3 or len([e for e in order if e > 9]) == 5
        assert len(order) < 8


def test_to_ask_for_the_element_spec_changes_no_order():
    """A function that needs values is called with the first element for that. The orders are TensorFlow's."""

    def sign(x):
        if x > 3:
            return x
        return -x

    tf.random.set_seed(3)
    for made, first, second in [
        (lambda d: d.shuffle(8).map(sign), [-3, 4, 0, -2, 6, -1, 7, 5], [0, 6, -1, 4, 5, -3, -2, 7]),
        (lambda d: d.shuffle(8, seed=1).map(sign), [7, -2, 0, 6, 5, 4, -1, -3], [4, 0, -2, -1, 7, -3, 6, 5]),
    ]:
        dataset = made(tf.data.Dataset.range(8))
        assert dataset.element_spec.dtype is tf.int64
        assert [[int(x) for x in dataset] for _ in range(2)] == [first, second]


def test_to_ask_for_the_element_spec_draws_no_random_number():
    def noisy(x):
        return tf.random.uniform([]) if x > 3 else tf.random.uniform([]) + 1.0

    values = []
    for asked in (True, False):
        tf.random.set_seed(3)
        dataset = tf.data.Dataset.range(3).shuffle(3).prefetch(2).map(noisy)
        assert not asked or dataset.element_spec.dtype is tf.float32
        values.append([float(x) for x in dataset] + [float(tf.random.uniform([]))])
    assert values[0] == values[1]


@pytest.mark.parametrize(
    "again, order", [(True, [1, 10, 4, 6, 0, 7, 11, 2, 8, 5, 3, 9]), (False, [3, 0, 5, 2, 10, 9, 1, 7, 8, 11, 6, 4])]
)
def test_elements_by_their_index_have_one_order(again, order):
    tf.random.set_seed(4)
    shuffled = tf.data.Dataset.range(12).shuffle(3, seed=2, reshuffle_each_iteration=again)
    for _ in range(2):
        assert [int(tf.data.experimental.at(shuffled, i)) for i in range(12)] == order
        assert sorted(shuffled.as_numpy_iterator()) == [*range(12)]
    assert tf.data.experimental.at(shuffled.batch(2), 1).numpy().tolist() == order[2:4]

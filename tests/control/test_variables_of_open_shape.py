"""A function follows a variable from outside whose extents change between calls. The numbers are TensorFlow's, unless marked."""

import pytest

import gradtape as tf

LENGTHS = ([1.0, 2.0, 3.0], [2.0, 2.0], [4.0], [1.0, 2.0, 3.0])


def values(nest):
    return tf.nest.map_structure(lambda x: x.numpy().tolist() if hasattr(x, "numpy") else x, nest)


def of_ones(x):
    """Return the sum times the length, which a trace knows as a number."""
    return tf.reduce_sum(x) * tf.cast(tf.size(x), tf.float32)


def plain(v):
    return tf.function(lambda: of_ones(v))


def with_open_arguments(v):
    function = tf.function(lambda x: of_ones(v) * tf.reduce_sum(x), [tf.TensorSpec([None])])
    return lambda: function(tf.ones([1]))


def a_concrete_function(v):
    return tf.function(lambda: of_ones(v)).get_concrete_function()


def a_function_inside(v):
    inner = tf.function(lambda: of_ones(v))
    return tf.function(lambda: inner() + 0.0)


def with_a_branch(v):
    function = tf.function(lambda x: tf.cond(x > 0, lambda: of_ones(v), lambda: 0.0))
    return lambda: function(tf.constant(1.0))


def with_rows(v):
    return tf.function(lambda: tf.map_fn(lambda x: of_ones(v) * x, tf.ones([1]))[0])


def with_a_loop_over_a_dataset(v):
    @tf.function
    def total(dataset):
        found = tf.constant(0.0)
        for x in dataset:
            found += of_ones(v) * x
        return found

    return lambda: total(tf.data.Dataset.from_tensors(1.0))


def in_a_critical_section(v):
    section = tf.CriticalSection()
    return tf.function(lambda: section.execute(lambda: of_ones(v)))


def with_a_shape_that_a_run_tells(v):
    function = tf.function(lambda: (of_ones(v), tf.where(v > 0.0)))
    return lambda: function()[0]


@pytest.mark.parametrize(
    "made",
    [
        plain,
        with_open_arguments,
        a_concrete_function,
        a_function_inside,
        with_a_branch,
        with_rows,
        with_a_loop_over_a_dataset,
        in_a_critical_section,
        with_a_shape_that_a_run_tells,
    ],
)
def test_a_variable_that_is_read(made):
    v = tf.Variable([1.0], shape=[None])
    function = made(v)
    found = []
    for value in LENGTHS:
        v.assign(value)
        found.append(function().numpy())
    assert found == [18.0, 8.0, 4.0, 18.0]


def test_gradients_inside_and_outside():
    v = tf.Variable([1.0], shape=[None])

    @tf.function
    def mean():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v) / tf.cast(tf.shape(v)[0], tf.float32)
        return y, tape.gradient(y, v)

    found = []
    for value in LENGTHS[:3]:
        v.assign(value)
        with tf.GradientTape() as tape:
            y, inside = mean()
        found.append((y, inside, tape.gradient(y, v)))
    thirds = pytest.approx([2 / 3, 4 / 3, 2.0])
    assert values(found) == [(pytest.approx(14 / 3), thirds, thirds), (4.0, [2.0, 2.0], [2.0, 2.0]), (16.0, [8.0], [8.0])]
    assert mean.experimental_get_tracing_count() == 1


def test_a_custom_gradient():
    v = tf.Variable([1.0], shape=[None])

    @tf.custom_gradient
    def product(x):
        return x * tf.reduce_sum(v), lambda dy, variables: (
            dy * tf.cast(tf.size(v), tf.float32),
            [dy * tf.ones_like(w) for w in variables],
        )

    function, x, found = tf.function(product), tf.constant(2.0), []
    for value in LENGTHS[:2]:
        v.assign(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found.append((y, tape.gradient(y, [x, v])))
    assert values(found) == [(12.0, [3.0, [1.0] * 3]), (8.0, [2.0, [1.0] * 2])]


def test_an_assignment_in_the_function():
    v = tf.Variable([1.0, 2.0, 3.0], shape=[None])
    inner = tf.function(lambda: (of_ones(v), tf.shape(v)))
    passed = tf.function(of_ones)

    @tf.function
    def assigned(x):
        before = inner()
        v.assign(x)
        v.assign_add(tf.ones_like(x))
        return before, inner(), passed(v)

    # TensorFlow may read the value before the assignment and the shape after it
    assert values(assigned(tf.zeros([2]))) == ((18.0, [3]), (4.0, [2]), 4.0)
    assert values(assigned(tf.zeros([2]))) == ((4.0, [2]), (4.0, [2]), 4.0)
    assert values(inner()) == (4.0, [2])


def test_a_variable_that_grows():
    v = tf.Variable([0.0], shape=[None])

    @tf.function
    def push(x):
        v.assign(tf.concat([v, x[None]], 0))
        return of_ones(v)

    assert [push(tf.constant(float(i))).numpy() for i in range(3)] == [0.0, 3.0, 12.0]
    assert push.experimental_get_tracing_count() == 1


def test_it_grows_in_loops_and_branches():
    v, w = tf.Variable([1.0], shape=[None]), tf.Variable([1.0], shape=[None])

    @tf.function
    def loops(dataset):
        for i in tf.range(3):
            v.assign(tf.concat([v, [tf.cast(i, tf.float32)]], 0))
        for x in dataset:
            w.assign(tf.concat([w, x[None]], 0))
        return of_ones(v), of_ones(w)

    @tf.function
    def branches(x):
        if x > 0:
            v.assign([1.0, 2.0])
        else:
            v.assign(tf.concat([v, v], 0))
        return of_ones(v)

    dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
    assert values([loops(dataset), loops(dataset)]) == [(16.0, 12.0), (49.0, 35.0)]
    assert [branches(tf.constant(x)).numpy() for x in (-1.0, 1.0, -1.0)] == [196.0, 6.0, 24.0]


def test_unknown_rank():
    v = tf.Variable([1.0], shape=tf.TensorShape(None))
    function, found = tf.function(lambda: (tf.reduce_sum(v), tf.rank(v))), []
    for value in ([1.0, 2.0], [[1.0, 3.0], [5.0, 7.0]], 3.0):
        v.assign(value)
        found.append(values(function()))
    assert found == [(3.0, 1), (16.0, 2), (3.0, 0)]


def test_variables_that_are_passed_are_one_trace_in_tensorflow():
    v, w = tf.Variable([1.0, 2.0], shape=[None]), tf.Variable([4.0], shape=[None])
    function = tf.function(of_ones)
    assert [function(v).numpy(), function(w).numpy(), function(v).numpy()] == [6.0, 4.0, 6.0]
    assert function.experimental_get_tracing_count() == 1


def test_a_layer():
    class Memory(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.memory = tf.Variable([1.0, 2.0, 3.0], shape=[None], trainable=False)

        def call(self, x):
            return x * of_ones(self.memory)

    layer = Memory()
    model, x = tf.keras.Sequential([layer]), tf.ones([2, 1])
    found = [model.predict(x, verbose=0).ravel().tolist()]
    layer.memory.assign([2.0])
    assert [*found, model.predict(x, verbose=0).ravel().tolist()] == [[18.0, 18.0], [2.0, 2.0]]


def test_a_loaded_function_takes_the_extents_that_were_saved(tmp_path):
    """TensorFlow takes others, too: here there is no Python code to trace for them."""

    class Memory(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable([1.0, 2.0, 3.0], shape=[None])

        @tf.function(input_signature=[])
        def weighed(self):
            return of_ones(self.v)

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def put(self, x):
            self.v.assign(x)

    memory = Memory()
    memory.weighed()
    memory.v.assign([1.0, 2.0])
    tf.saved_model.save(memory, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.weighed().numpy() == 6.0
    loaded.put(tf.ones([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="weighed was saved for other shapes of its variables"):
        loaded.weighed()
    loaded.put(tf.ones([2]))
    assert loaded.weighed().numpy() == 4.0

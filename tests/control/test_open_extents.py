"""A function with open extents is traced once, and sees them as None. Numbers and shapes are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

S = tf.TensorSpec


def values(results):
    return tf.nest.map_structure(lambda x: x.numpy().tolist() if isinstance(x, tf.Tensor) else x, results)


def once(specs, function):
    """Return the function, and the list of the shapes with which it was traced."""
    traced = []

    def noting(*args):
        traced.append([x.shape.as_list() if x.shape.rank is not None else None for x in tf.nest.flatten(args)])
        return function(*args)

    return tf.function(noting, input_signature=specs), traced


def test_a_trace_is_printed_once(capsys):
    @tf.function(input_signature=(S([None], tf.int32),))
    def next_collatz(x):
        print("Tracing with", x)
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    assert next_collatz([1, 2]).numpy().tolist() == [4, 1]
    assert next_collatz([1, 2, 5]).numpy().tolist() == [4, 1, 16]
    for bad in ([[1, 2], [3, 4]], [1.0, 2.0]):
        with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
            next_collatz(tf.constant(bad))
    assert capsys.readouterr().out == 'Tracing with Tensor("x:0", shape=(None,), dtype=int32)\n'


def test_reduce_retracing_opens_what_differs(capsys):
    @tf.function(reduce_retracing=True)
    def same(x):
        print("Tracing with", x)
        return x

    for count in (3, 5, 7, 9):
        assert same(tf.range(count)).numpy().tolist() == list(range(count))
    assert capsys.readouterr().out.splitlines() == [
        'Tracing with Tensor("x:0", shape=(3,), dtype=int32)',
        'Tracing with Tensor("x:0", shape=(None,), dtype=int32)',
    ]


def test_shapes_of_what_is_computed():
    shapes = []

    def compute(x):
        b, n = tf.shape(x)[0], tf.shape(x)[1]
        found = [
            tf.reshape(x, [b * n]), tf.tile(x, [2, 1]), tf.eye(n), tf.one_hot(tf.range(b), 4), tf.pad(x, [[1, 0], [0, 1]]),
            x @ tf.transpose(x), tf.stack([x, x]), x[0], x[..., tf.newaxis], tf.reduce_sum(x, 1), tf.zeros([b, 3]),
            tf.fill([n], 1.0), tf.gather(x, [0, 0]),
        ]  # fmt: skip
        shapes.append([y.shape.as_list() for y in found])
        return [tf.shape(y) for y in found[1:5]]

    f, traced = once([S([None, None])], compute)
    assert values(f(tf.ones([2, 3]))) == [[4, 3], [3, 3], [2, 4], [3, 4]]
    assert values(f(tf.ones([3, 2]))) == [[6, 2], [2, 2], [3, 4], [4, 3]]
    assert traced == [[[None, None]]]
    n = None
    assert shapes == [
        [[n], [n, n], [n, n], [n, 4], [n, n], [n, n], [2, n, n], [n], [n, n, 1], [n], [n, 3], [n], [2, n]]
    ]  # fmt: skip


def test_variables_are_read_and_assigned(capfd):
    total = tf.Variable(0)

    def rows(x):
        total.assign_add(tf.shape(x)[0])
        tf.print("rows", tf.shape(x)[0], total)
        return total + 1

    f, traced = once([S([None, 2])], rows)
    assert [f(tf.ones([n, 2])).numpy() for n in (2, 4, 3)] == [3, 7, 10]
    assert total.numpy() == 9
    assert len(traced) == 1
    assert capfd.readouterr().err.splitlines() == ["rows 2 2", "rows 4 6", "rows 3 9"]


def test_a_variable_is_made_in_the_first_trace_as_ever():
    class Dense(tf.Module):
        w = None

        @tf.function(input_signature=[S([None, 3])])
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([3, 2]))
            return x @ self.w

    dense = Dense()
    assert [dense(tf.ones([n, 3])).shape for n in (1, 2)] == [[1, 2], [2, 2]]


@pytest.mark.parametrize("rows", [2, 5])
def test_loops_branches_and_maps(rows):
    def compute(x):
        total = tf.zeros([2])
        for row in x:
            total += row
        for i in tf.range(tf.shape(x)[0]):
            total += tf.cast(i, tf.float32)
        if tf.reduce_sum(x) > 5.0:
            total = -total
        return total, tf.map_fn(tf.reduce_sum, x), tf.scan(tf.add, x), tf.vectorized_map(lambda r: r * 2.0, x)

    f, traced = once([S([None, 2])], compute)
    assert f(tf.ones([3, 2]))[0].numpy().tolist() == [-6.0, -6.0]
    total, sums, running, doubled = values(f(tf.ones([rows, 2])))
    assert total == [[3.0, 3.0], [-15.0, -15.0]][rows == 5]
    assert sums == [2.0] * rows and doubled == [[2.0, 2.0]] * rows
    assert running == [[k, k] for k in range(1, rows + 1)]
    assert traced == [[[None, 2]]]


def test_a_loop_over_extents_is_a_scan_of_known_length():
    @tf.function(input_signature=[S([None])])
    def f(x):
        for i in tf.range(tf.size(x)):
            x = x + tf.cast(i, tf.float32)
        return x

    f(tf.ones([3]))
    text = str(f.get_concrete_function(tf.TensorSpec([3])).program)
    assert "Scan" in text and "While" not in text


def test_gradients_from_outside():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    f, traced = once([S([None, 2])], lambda x: tf.reduce_sum((x @ w) ** 2))
    for rows, expected in ((1, [[8.0, 12.0]] * 2), (2, [[16.0, 24.0]] * 2)):
        x = tf.ones([rows, 2])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        dx, dw = tape.gradient(y, [x, w])
        assert dx.numpy().tolist() == [[32.0, 72.0]] * rows
        assert dw.numpy().tolist() == expected
    assert len(traced) == 1


@pytest.mark.parametrize("shape", [(1, 7), (3, 9)])
def test_gradients_of_loops_go_by_the_shapes_of_the_call(shape):
    w = tf.Variable([[0.5, -0.2], [0.1, 0.3]])

    def rnn(x):
        state = tf.zeros([tf.shape(x)[0], 2])
        for row in tf.transpose(x, [1, 0, 2]):
            state = tf.tanh(row @ w + state)
        while tf.reduce_sum(state * state) < 100.0:
            state = state * (1.5 + w[0, 0])
        return state

    f, traced = once([S([None, None, 2])], rnn)
    direct = tf.function(rnn)
    x = tf.random.stateless_normal([*shape, 2], (1, 2))
    found = []
    for function in (f, direct):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(function(x))
        found.append(tape.gradient(loss, w))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert traced == [[[None, None, 2]]]


def test_a_long_loop_keeps_checkpoints_for_the_shapes_of_the_call():
    def grow(x):
        i = 0
        while i < 5000:
            x = x * 1.0001
            i += 1
        return x

    f, _ = once([S([None])], grow)
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), 1.0001**5000, rtol=1e-3)


def test_gradients_inside_are_of_the_true_shapes():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def gradient(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum((x @ w) ** 2)
        return tape.gradient(y, w)

    f, _ = once([S([None, 2])], gradient)
    assert f(tf.ones([1, 2])).numpy().tolist() == [[8.0, 12.0]] * 2
    assert f(tf.ones([2, 2])).numpy().tolist() == [[16.0, 24.0]] * 2


def test_random_numbers_go_on():
    tf.random.set_seed(1)
    f, traced = once([S([None])], lambda x: (x + tf.random.normal(tf.shape(x)), tf.random.uniform([2])))
    expected = [
        ([0.3052047, 0.5671378], [0.05554414, 0.01869845]),
        ([0.33149767, 0.4665157, 0.6415256], [0.5773283, 0.29636776]),
        ([0.0068362, 0.17708243], [0.92476225, 0.9362979]),
    ]
    for rows, (normal, uniform) in zip((2, 3, 2), expected, strict=True):
        one, two = f(tf.zeros(rows))
        np.testing.assert_allclose(one, normal, rtol=1e-5)
        np.testing.assert_allclose(two, uniform, rtol=1e-5)
    assert len(traced) == 1


def test_random_numbers_of_a_function_that_calls_another():
    tf.random.set_seed(2)
    drawing = tf.function(lambda x: x + tf.random.uniform(tf.shape(x)), input_signature=[S([None])])
    for n in (2, 3):
        drawing(tf.zeros([n]))
    both, _ = once([S([None])], lambda x: (drawing(x), tf.random.uniform([1]), drawing(x)))
    results = [both(tf.zeros([n])) for n in (2, 3, 2)]
    assert [[y.shape[0] for y in result] for result in results] == [[2, 1, 2], [3, 1, 3], [2, 1, 2]]
    assert len({float(y[0]) for result in results for y in result}) == 9


def in_a_branch(x, on):
    return tf.cond(on, lambda: tf.random.uniform(tf.shape(x), seed=1), lambda: x)


def in_eager_code(x, on):
    tf.unique(x)
    return tf.random.uniform(tf.shape(x), seed=1)


@pytest.mark.parametrize("draw", [in_a_branch, in_eager_code])
def test_random_numbers_go_on_in_a_branch_and_in_eager_code(draw):
    tf.random.set_seed(3)
    f = tf.function(draw, input_signature=[S([None]), S([], tf.bool)])
    expected = [[0.778069, 0.505288], [0.598418, 0.641394], [0.416775, 0.971146, 0.357983], [0.969531, 0.954382]]
    for numbers in expected:
        np.testing.assert_allclose(f(tf.zeros(len(numbers)), True), numbers, atol=1e-6)


def test_each_trip_draws_other_numbers():
    @tf.function(input_signature=[S([None])])
    def digits(x):
        y = tf.zeros_like(x)
        for _ in tf.range(3):
            y = 10.0 * y + tf.floor(tf.random.uniform(tf.shape(x), 0.0, 10.0, seed=1))
        return y

    tf.random.set_seed(3)
    assert digits(tf.zeros([2])).numpy().tolist() == [754.0, 569.0]
    assert len({digits(tf.zeros([n])).numpy()[0] for n in (2, 3, 2)}) == 3


def test_each_row_of_a_vectorized_map_draws_its_own_numbers():
    f, _ = once([S([None, 3])], lambda x: tf.vectorized_map(lambda row: row + tf.random.uniform([3]), x))
    rows = [row for n in (2, 3, 2) for row in f(tf.zeros([n, 3])).numpy().tolist()]
    assert len({tuple(row) for row in rows}) == 7 and all(0.0 <= x < 1.0 for row in rows for x in row)


def test_the_gradient_of_dropout_in_a_loop_has_its_masks():
    @tf.function(input_signature=[S([None, 4])])
    def gradient(x):
        y = tf.zeros_like(x)
        for _ in tf.range(3):
            y = 10.0 * y + tf.nn.dropout(x, rate=0.5, seed=1)
        return y, tf.gradients(y, x)[0]

    tf.random.set_seed(3)
    masked, slope = gradient(tf.ones([5, 4]))
    np.testing.assert_array_equal(masked, slope)
    assert len(set(masked.numpy().ravel())) > 4


def test_what_needs_values_runs_as_eager_code():
    f, _ = once([S([None])], lambda x: tf.boolean_mask(x, x > 0))
    assert f([1.0, -2.0]).numpy().tolist() == [1.0]
    assert f([1.0, 2.0, 3.0]).numpy().tolist() == [1.0, 2.0, 3.0]


def test_what_needs_values_is_traced_once_in_vain():
    calls = []

    @tf.function(input_signature=[S([None])])
    def chosen(x):
        calls.append(x)
        return tf.boolean_mask(x, x > 0.0)

    for size in (2, 3, 3, 4):
        assert chosen(tf.range(size, dtype=tf.float32)).shape == [size - 1]
    assert len(calls) == 1 + 4


def test_an_unknown_rank(capsys):
    tf.function(lambda x: print(x), input_signature=[S(None)])(1.0)
    assert capsys.readouterr().out == 'Tensor("x:0", dtype=float32)\n'
    f, traced = once([S(None)], lambda x: (x * 2.0, tf.rank(x), tf.reduce_sum(x)))
    assert values(f([1.0, -2.0])) == ([2.0, -4.0], 1, -1.0)
    assert values(f([[1.0, 2.0, 3.0]])) == ([[2.0, 4.0, 6.0]], 2, 6.0)
    assert traced == [[None]]


def test_functions_in_functions_see_open_extents():
    inner_shapes = []

    @tf.function
    def inner(x):
        inner_shapes.append(x.shape.as_list())
        return x * 2.0

    f, traced = once([S([None])], lambda x: inner(x) + inner(x))
    assert values([f(tf.ones([n])) for n in (2, 3)]) == [[4.0] * 2, [4.0] * 3]
    assert len(traced) == 1 and inner_shapes == [[None]]


def test_tensors_of_the_trace_know_their_op_and_graph():
    found = []

    def look(x):
        y = tf.add(x, 1.0, name="more")
        names = x.name, x.op.type, y.name, y.op.type
        found.append((*names, y.graph is x.graph, tf.inside_function(), y == y, len({x.ref(), y.ref()})))
        return y

    f, _ = once([S([None])], look)
    f([1.0]), f([1.0, 2.0])
    ((name, kind, more, added, same, inside, equal, count),) = found
    assert (name, kind, more, added, same, inside, count) == ("args_0:0", "Placeholder", "more:0", "AddV2", True, True, 2)
    assert isinstance(equal, tf.Tensor)


def test_an_error_of_a_call_names_the_line_of_the_op():
    def checked(x):
        tf.debugging.assert_less(tf.shape(x)[0], 5, message="too many")
        return x

    f, traced = once([S([None])], checked)
    f(tf.ones([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too many") as caught:
        f(tf.ones([6]))
    assert f"test_open_extents.py:{checked.__code__.co_firstlineno + 1}, in checked" in str(caught.value)
    assert traced[0] == [[None]]

    @tf.function(input_signature=[S([None, None]), S([None, None])])
    def product(x, y):
        return x @ y

    product(tf.ones([2, 3]), tf.ones([3, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Matrix size-incompatible") as caught:
        product(tf.ones([2, 3]), tf.ones([2, 2]))
    assert "in product" in str(caught.value)


def test_an_error_that_the_function_raises_about_open_extents():
    def build(x):
        if x.shape[-1] is None:
            raise ValueError("the last extent must be known")
        return x

    f, _ = once([S([None, None])], build)
    with pytest.raises(ValueError, match="the last extent must be known"):
        f(tf.ones([2, 2]))
    with pytest.raises(ValueError, match="the last extent must be known"):
        tf.function(build).get_concrete_function(S([3, None]))


def test_an_open_extent_in_a_place_for_a_number_is_the_calls():
    f, _ = once([S([None])], lambda x: tf.zeros([x.shape[0], 2]))  # TensorFlow: TypeError
    assert f([1.0, 2.0, 3.0]).shape == [3, 2]


def test_without_autograph_the_rows_of_a_tensor_are_those_of_the_call():
    def total(x):  # TensorFlow: OperatorNotAllowedInGraphError
        return sum(x[:-1], len(x) * 100.0)

    f = tf.function(total, input_signature=[S([None])], autograph=False)
    assert [f(tf.ones([n])).numpy() for n in (2, 3)] == [201.0, 302.0]


def test_shapes_of_a_concrete_function():
    f = tf.function(lambda x: (tf.concat([x, x], 0), tf.transpose(x), tf.reduce_sum(x, 1), 3))
    concrete = f.get_concrete_function(S([None, 4]))
    shapes = [spec.shape.as_list() for spec in tf.nest.flatten(concrete.structured_outputs)]
    assert shapes == [[None, 4], [4, None], [None], []]
    assert concrete(tf.ones([2, 4]))[0].shape == [4, 4]
    assert f.experimental_get_tracing_count() == 1


def test_shapes_of_a_concrete_function_that_takes_no_extent_of_one():
    f = tf.function(lambda x, like: tf.reshape(x, tf.concat([tf.shape(like)[:2], tf.shape(x)[1:]], 0)))
    concrete = f.get_concrete_function(S([None, 2, 2]), S([None, 3]))
    assert concrete.output_shapes.as_list() == [None, 3, 2, 2]
    assert concrete(tf.ones([6, 2, 2]), tf.ones([2, 3])).shape == [2, 3, 2, 2]


def test_keras_layers():
    model = tf.keras.Sequential(
        [tf.keras.Input((8, 8, 1)), tf.keras.layers.Conv2D(2, 3), tf.keras.layers.BatchNormalization(), tf.keras.layers.Flatten(),
         tf.keras.layers.Dense(3)]
    )  # fmt: skip
    f, traced = once([S([None, 8, 8, 1])], lambda x: model(x))
    x = np.random.default_rng(0).normal(size=(5, 8, 8, 1)).astype("float32")
    for rows in (2, 5):
        np.testing.assert_allclose(f(x[:rows]), model(x[:rows]), rtol=1e-4, atol=1e-5)
    assert traced == [[[None, 8, 8, 1]]]


# -- what programs did that somebody wrote who did not know the implementation


def test_effects_in_loops_branches_and_functions(capfd):
    @tf.function
    def log(x):
        tf.print("log", tf.shape(x)[0])

    def compute(x):
        for i in x:
            tf.print("item", i)
        log(x)
        if tf.size(x) > 2:
            tf.print("many")
        return x

    f, _ = once([S([None], tf.int32)], compute)
    f([1]), f([1, 2, 3])
    assert capfd.readouterr().err.split("\n")[:-1] == ["item 1", "log 1", "item 1", "item 2", "item 3", "log 3", "many"]


@pytest.mark.parametrize(
    "check",
    [
        lambda x: [tf.debugging.assert_less(e, 5.0, message="bad") for e in [x[0]]],
        tf.function(lambda x: tf.debugging.assert_less(x, 5.0, message="bad")),
        lambda x: tf.cond(tf.size(x) > 1, lambda: tf.debugging.assert_less(x, 5.0, message="bad"), lambda: None),
    ],
    ids=["straight", "in a function", "in a branch"],
)
def test_checks_whose_results_nobody_uses(check):
    def compute(x):
        check(x)
        return x * 2.0

    f, _ = once([S([None])], compute)
    assert f([1.0, 2.0]).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        f([9.0, 9.0, 9.0])


def test_len_is_the_number_of_rows_of_the_call():
    f, traced = once([S([None, 2])], lambda x: tf.reduce_sum(x) / tf.cast(len(x), tf.float32))
    assert [f(tf.ones([n, 2])).numpy() for n in (1, 2, 4)] == [2.0, 2.0, 2.0]
    assert len(traced) == 1


def test_a_variable_of_open_extents():
    v = tf.Variable([1.0, 2.0], shape=[None])

    def grow(x):
        v.assign(tf.concat([v, x], 0))
        return tf.shape(v)

    f, _ = once([S([None])], grow)
    assert values([f([1.0]), f([1.0, 1.0])]) == [[3], [5]]


def test_code_that_excepts_everything():
    def slope(x):
        try:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            return tape.gradient(y, x)
        except:  # noqa: E722
            return x * 0.0

    f, _ = once([S([None])], slope)
    assert f([1.0, 2.0]).numpy().tolist() == [2.0, 4.0]


def test_a_slice_from_the_end_may_be_empty():
    f, _ = once([S([None])], lambda x: (x[-1:], tf.shape(x[-1:]), tf.zeros_like(x[-1:])))
    assert values(f(tf.zeros([0]))) == ([], [0], [])
    assert values(f([1.0, 2.0])) == ([2.0], [1], [0.0])


def test_layers_that_are_built_in_the_call(capsys):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)])

    @tf.function(input_signature=[S([None, 3])])
    def call(x):
        print("tracing", x.shape)
        return model(x)

    assert [call(tf.ones([n, 3])).shape for n in (1, 2)] == [[1, 1], [2, 1]]
    assert capsys.readouterr().out == "tracing (None, 3)\n" * 2
    np.testing.assert_allclose(call(tf.ones([2, 3])), model(tf.ones([2, 3])), rtol=1e-6)


def test_a_recurrent_layer_with_a_mask():
    model = tf.keras.Sequential([tf.keras.layers.Embedding(5, 3, mask_zero=True), tf.keras.layers.LSTM(2)])
    f, _ = once([S([None, None], tf.int32)], lambda x: model(x))
    for x in ([[1, 2, 0]], [[1, 2, 3, 4], [1, 0, 0, 0]]):
        np.testing.assert_allclose(f(x), model(tf.constant(x)), rtol=1e-5, atol=1e-6)
    assert [model.predict(np.array(x), verbose=0).shape for x in ([[1, 2]], [[1, 2, 3]])] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(
    ("compute", "calls"),
    [
        (lambda x: x[0] if tf.size(x) > 0 else tf.constant(-1.0), [([2.0], 2.0), ([], -1.0)]),
        (lambda x: tf.cond(tf.size(x) % 2 == 0, lambda: tf.reshape(x, [-1, 2])[0], lambda: x[:2]),
         [([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0, 3.0], [1.0, 2.0])]),
        (lambda x: tf.switch_case(tf.minimum(tf.size(x), 2), [lambda: 0.0, lambda: x[0], lambda: x[0] + x[1]]),
         [([], 0.0), ([3.0], 3.0), ([3.0, 4.0], 7.0)]),
    ],
    ids=["if", "cond", "switch_case"],
)  # fmt: skip
def test_a_branch_that_extents_choose_is_the_only_one_that_has_to_fit(compute, calls):
    f, _ = once([S([None])], compute)
    for x, expected in calls:
        assert f(tf.constant(x, tf.float32)).numpy().tolist() == expected


def test_a_loop_without_trips_over_what_has_no_columns():
    def first_column(x):
        total = 0.0
        for i in tf.range(tf.shape(x)[0]):
            total += x[i, 0]
        return total

    f, _ = once([S([None, None])], first_column)
    assert [f(tf.ones([2, 1])).numpy(), f(tf.zeros([0, 0])).numpy()] == [2.0, 0.0]


def test_rows_written_to_an_array_have_gradients():
    def states(x):
        count = tf.shape(x)[1]
        written, state = tf.TensorArray(tf.float32, count), tf.zeros_like(x[:, 0])
        for i in tf.range(count):
            state = tf.tanh(x[:, i] + state)
            written = written.write(i, state)
        return written.stack()

    f, _ = once([S([None, None, 2])], states)
    x = tf.random.stateless_normal([3, 4, 2], (1, 2))
    found = []
    for function in (f, states):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(function(x) ** 2)
        found.append(tape.gradient(y, x))
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_extents_that_do_not_fit_each_other_are_an_error_of_the_call():
    f, _ = once([S([None]), S([None])], lambda x, y: x + y)
    f([1.0], [2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]") as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert type(caught.value) is tf.errors.InvalidArgumentError


def test_init_scope_is_eager_code():
    found = []

    def compute(x):
        with tf.init_scope():
            found.append((tf.executing_eagerly(), tf.constant(2.0).numpy()))
        return x

    f, _ = once([S([None])], compute)
    f([1.0]), f([1.0, 2.0])
    assert found == [(True, 2.0)]


def test_signatures_are_those_that_were_traced():
    f = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    for n in (2, 3, 4):
        f(tf.ones([n]))
    assert f.pretty_printed_concrete_signatures().count("Input Parameters") == 2
    assert "shape=(None,)" in f.pretty_printed_concrete_signatures()
    shapes = [c.structured_input_signature[0][0].shape.as_list() for c in f._list_all_concrete_functions()]
    assert shapes == [[2], [None]]


def test_a_saved_function_takes_the_extents_that_its_trace_takes(tmp_path):
    module = tf.Module()
    module.double = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    for n in (2, 3):
        module.double(tf.ones([n]))
    tf.saved_model.save(module, tmp_path / "m")
    assert tf.saved_model.load(tmp_path / "m").double(tf.ones([7])).numpy().tolist() == [2.0] * 7


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (tf.autograph.experimental.do_not_convert(lambda x: x if tf.shape(x)[0] > 1 else -x), [2, 3]),
        (lambda x: tf.repeat(x, 2, axis=1)[:, -1], [1, 3]),
        (lambda x: x[-1], [1, 3]),
        (lambda x: tf.nn.compute_average_loss(x[:, 0]), [1, 3]),
        (lambda x: tf.nn.sufficient_statistics(x, [0])[0] + tf.math.zero_fraction(x), [1, 3]),
        (lambda x: tf.image.per_image_standardization(x[..., None]), [2, 3]),
        (lambda x: tf.math.confusion_matrix(tf.argmax(x, 1), tf.argmin(x, 1), 3), [1, 3]),
        (lambda x: tf.math.bincount(tf.argmax(x, 1), minlength=3, maxlength=3), [1, 3]),
        (
            lambda x: tf.gradients(tf.reduce_mean(tf.nn.conv2d(x[None, ..., None], tf.ones([2, 2, 1, 2]), 1, "SAME"), [1, 2]), x)[
                0
            ],
            [2, 3],
        ),
    ],
    ids=[
        "truth",
        "repeat",
        "last row",
        "average loss",
        "counts",
        "standardization",
        "confusion",
        "bincount",
        "gradient of a mean",
    ],
)
def test_what_is_traced_once_for_all_extents(function, shape):
    f, traced = once([S([None, None])], function)
    for rows in (1, 3, 2):
        x = np.cos(np.arange(rows * shape[0] * shape[1], dtype="float32")).reshape(rows * shape[0], shape[1])
        closed = tf.function(function)  # of gradients, too
        np.testing.assert_allclose(f(x), closed(x), rtol=1e-6)
    assert traced == [[None, None]] or traced == [[[None, None]]]


def test_classes_out_of_range_in_a_function():
    f = tf.function(lambda labels: tf.math.confusion_matrix(labels, [0, 1], 3))
    assert f([2, 0]).numpy().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` out of bound: the largest is 3, num_classes is 3"):
        f([3, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` contains negative values"):
        f([-1, 0])

"""`tf.profiler.profile`: counts against closed forms, loops times trips, what is not known, what XLA says."""

import json

import numpy as np
import pytest

import gradtape as tf
from gradtape import profiler
from gradtape._src.core.programs.op import ops
from gradtape._src.profile.formulas import flops

X, W = tf.ones([32, 64]), tf.ones([64, 64])
PRODUCT = 2 * 32 * 64 * 64
CUBE = 2 * 64**3


def compiled(function):
    return tf.function(function)


def as_written(function):
    return function


EITHER = pytest.mark.parametrize("made", [as_written, compiled])


@EITHER
def test_a_product_and_its_sum(made):
    cost = profiler.profile(made(lambda x, w: tf.reduce_sum(x @ w)), X, W)
    assert cost.forward.by_op["MatMul"]["flops"] == PRODUCT == 262_144
    assert cost.forward.by_op["Sum"]["flops"] == 2_047
    assert cost.forward.flops == 262_144 + 2_047
    assert cost.sources == 2


@EITHER
def test_both_gradients_of_a_product_are_a_product_each(made):
    cost = profiler.profile(made(lambda x, w: x @ w), X, W, output_gradients=tf.random.normal([32, 64]))
    assert (cost.forward.flops, cost.backward.flops) == (262_144, 524_288)
    assert cost.backward.by_op["MatMul"]["runs"] == 2


@EITHER
def test_the_gradient_of_a_sum_of_squares(made):
    cost = profiler.profile(made(lambda x, w: tf.reduce_sum(tf.square(x @ w))), X, W)
    assert cost.forward.flops == 262_144 + 2_048 + 2_047
    assert cost.backward.by_op["MatMul"]["flops"] == 524_288


def test_a_gradient_that_is_the_same_everywhere_needs_no_products():
    cost = profiler.profile(lambda x, w: tf.reduce_sum(x @ w), X, W)
    assert cost.backward.flops < 10_000  # 524,288 if the ones of the sum were made into a matrix
    assert cost.xla["flops"] == pytest.approx(cost.flops, rel=0.01)


def test_only_the_sources_that_are_asked_for():
    dy = tf.random.normal([32, 64])
    cost = profiler.profile(lambda x, w: x @ w, X, W, sources=W, output_gradients=dy)
    assert (cost.sources, cost.backward.flops) == (1, 262_144)


@EITHER
def test_a_while_loop_counts_times_its_trips(made):
    def power(x, w):
        return tf.while_loop(lambda i, x: i < 100, lambda i, x: (i + 1, x @ w), (0, x))[1]

    dy = tf.random.normal([64, 64])
    cost = profiler.profile(made(power), W / 64, W / 64, output_gradients=dy)
    assert cost.forward.flops == 100 * CUBE
    assert cost.backward.by_op["MatMul"] == {"runs": 200, "flops": 200 * CUBE, "bytes": 200 * 3 * 4 * 64**2}


@pytest.mark.parametrize("trips", [0, 1, 7])
def test_a_loop_in_a_loop_whose_lengths_depend_on_values(trips):
    @tf.function
    def triangle(n, x):
        i = tf.constant(0)
        while i < n:
            j = tf.constant(0)
            while j < i:
                x = tf.sin(x)
                j += 1
            i += 1
        return x

    cost = profiler.profile(triangle, tf.constant(trips), tf.ones([5]))
    assert cost.forward.by_op.get("Sin", {"runs": 0})["runs"] == trips * (trips - 1) // 2
    assert cost.forward.flops == 5 * trips * (trips - 1) // 2


def test_a_for_loop_of_known_length_and_its_gradient():
    @tf.function
    def sines(x):
        for _ in tf.range(12):
            x = tf.sin(x)
        return x

    cost = profiler.profile(sines, tf.ones([10]), output_gradients=tf.fill([10], 2.0))
    assert cost.forward.flops == 120
    assert cost.backward.by_op["Cos"]["flops"] == 120
    assert cost.backward.by_op["Mul"]["flops"] == 120


def test_of_a_branch_the_one_that_is_taken():
    @tf.function
    def either(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: tf.linalg.matmul([x], [x], transpose_b=True)[0])

    @tf.function
    def same_shape(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: x * x * x)

    for x, names in ((tf.ones([8]), {"Exp": 8}), (-tf.ones([8]), {"Mul": 16})):
        by_op = profiler.profile(same_shape, x).forward.by_op
        assert {name: by_op[name]["flops"] for name in ("Exp", "Mul") if name in by_op} == names


def test_a_program_alone_does_not_know_its_trips():
    @tf.function
    def until(x):
        while tf.reduce_sum(x) < 100.0:
            x = x * 2.0
        return x

    x = tf.ones([4])
    program = until.get_concrete_function(x).program
    alone = profiler.profile(program)
    assert alone.forward.by_op["Mul"]["flops"] == 4
    assert len(alone.loops_of_unknown_length) == 1 and "test_profile.py" in alone.loops_of_unknown_length[0]
    assert "one trip counted" in str(alone)
    given = profiler.profile(program, x)
    assert given.forward.by_op["Mul"]["flops"] == 4 * 5
    assert given.loops_of_unknown_length == []


def test_a_tape_with_its_target():
    w = tf.Variable(tf.random.normal([64, 8]))
    with tf.GradientTape() as tape:
        y = tf.tanh(X @ w)
        loss = tf.reduce_mean(y * y)
    cost = profiler.profile(tape, loss)
    assert cost.forward.by_op["MatMul"]["flops"] == 2 * 32 * 64 * 8
    assert cost.backward.by_op["MatMul"]["flops"] == 2 * 32 * 64 * 8  # X is a constant: one gradient
    assert tape.gradient(loss, w) is not None  # asking what it costs does not use the tape up


def test_a_function_in_a_function_computes_its_forward_pass_once():
    inner = tf.function(lambda x: tf.exp(tf.sin(x)))
    cost = profiler.profile(tf.function(lambda x: inner(x) * 2.0), tf.ones([10]), output_gradients=tf.fill([10], 3.0))
    assert {name: row["flops"] for name, row in cost.forward.by_op.items()} == {"Exp": 10, "Mul": 10, "Sin": 10}
    assert "Exp" not in cost.backward.by_op and "Sin" not in cost.backward.by_op
    assert cost.backward.by_op["Cos"]["flops"] == 10


def test_recomputing_costs_the_forward_pass_again():
    def block(x):
        return tf.exp(tf.sin(x))

    plain = profiler.profile(block, tf.ones([10]))
    again = profiler.profile(tf.recompute_grad(block), tf.ones([10]))
    assert again.forward.flops == plain.forward.flops == 20
    assert again.backward.flops == plain.backward.flops + 20


def test_an_op_without_a_formula_is_listed():
    cost = profiler.profile(lambda x: tf.reduce_sum(tf.math.digamma(x) * x), tf.ones([6]) * 3.0)
    assert cost.forward.without_formula == {"Digamma": 1}
    assert cost.forward.flops == 6 + 5
    assert "Polygamma" in cost.backward.without_formula
    assert "Digamma ×1" in str(cost)


def test_flops_are_of_floating_point_numbers():
    float32 = tf.ones([3]).node.aval
    assert flops(ops["Digamma"], (), [float32], float32) is None
    int32 = tf.ones([3], tf.int32).node.aval
    assert flops(ops["AddV2"], (), [int32, int32], int32) == 0
    complex64 = tf.ones([3], tf.complex64).node.aval
    assert flops(ops["Mul"], (), [complex64, complex64], complex64) == 18
    assert flops(ops["Exp"], (), [complex64], complex64) is None
    assert flops(ops["Neg"], (), [complex64], complex64) == 6
    assert flops(ops["FFT"], (), [complex64], complex64) == pytest.approx(5 * 3 * np.log2(3))


@pytest.mark.parametrize(
    "function, arguments, expected",
    [
        (lambda x, k: tf.nn.conv2d(x, k, 1, "VALID"), (tf.ones([2, 8, 8, 3]), tf.ones([3, 3, 3, 5])), 2 * 2 * 36 * 5 * 27),
        (lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"), (tf.ones([1, 6, 6, 4]), tf.ones([3, 3, 4, 2])),
         2 * 36 * 8 * 9),
        (lambda a, b: tf.einsum("bik,bkj->bij", a, b), (tf.ones([3, 4, 5]), tf.ones([3, 5, 6])), 2 * 3 * 4 * 5 * 6),
        (lambda a, b: tf.einsum("i,j->ij", a, b), (tf.ones([4]), tf.ones([5])), 20),
        (lambda a: tf.einsum("ij->j", a), (tf.ones([4, 5]),), 15),
        (lambda a, b: tf.matmul(a, b, transpose_a=True), (tf.ones([7, 4, 5]), tf.ones([7, 4, 6])), 7 * 2 * 5 * 4 * 6),
        (tf.nn.softmax, (tf.ones([3, 10]),), 5 * 30 - 2 * 3),
        (tf.nn.gelu, (tf.ones([3, 10]),), 4 * 30),
        (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2, 3], x), (tf.ones([3, 10]),), 4 * 30),
        (lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.ones([3, 10]), x), (tf.ones([3, 10]),), 7 * 30 - 2 * 3),
        (lambda x: tf.reduce_mean(x, axis=1), (tf.ones([3, 10]),), 30),
        (tf.cumsum, (tf.ones([10]),), 9),
        (lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), (tf.ones([1, 4, 4, 3]),), 12 * 3),
        (tf.linalg.cholesky, (tf.eye(6),), 72),
        (lambda a, b: tf.linalg.triangular_solve(a, b), (tf.eye(6), tf.ones([6, 2])), 72),
        (lambda x: tf.signal.fft(tf.cast(x, tf.complex64)), (tf.ones([16]),), 5 * 16 * 4),
    ],
)  # fmt: skip
def test_formulas(function, arguments, expected):
    cost = profiler.profile(function, *arguments)
    assert cost.forward.without_formula == {}
    assert cost.forward.flops == expected


def test_convolution_gradients_cost_what_the_convolution_does():
    x, k = tf.ones([2, 8, 8, 3]), tf.ones([3, 3, 3, 5])
    cost = profiler.profile(lambda x, k: tf.nn.conv2d(x, k, 1, "VALID"), x, k, output_gradients=tf.random.normal([2, 6, 6, 5]))
    assert cost.backward.flops == 2 * cost.forward.flops


def test_a_mean_over_space_makes_window_sums_of_a_convolution():
    x, k = tf.ones([2, 8, 8, 3]), tf.ones([3, 3, 3, 5])
    cost = profiler.profile(lambda x, k: tf.reduce_mean(tf.nn.conv2d(x, k, 1, "VALID")), x, k)
    assert cost.backward.without_formula == {}
    assert cost.backward.by_op["WindowSum"]["flops"] == 2 * (2 * 8 * 8 * 3) * 3 + 2 * (2 * 3 * 8 * 3) * 3
    assert cost.backward.flops < cost.forward.flops / 2  # a convolution each, if the mean's gradient were an image


def test_vectorized_rows_count_each():
    cost = profiler.profile(lambda x: tf.vectorized_map(lambda row: tf.exp(row), x), tf.ones([5, 3]))
    assert cost.forward.flops == 15


def test_lines_and_bytes():
    def two_lines(x):
        y = tf.exp(x)
        return y * y

    cost = profiler.profile(two_lines, tf.ones([10]), output_gradients=tf.fill([10], 2.0))
    first = two_lines.__code__.co_firstlineno + 1
    lines = {int(name.split(":")[-1]): row for name, row in cost.forward.by_line.items()}
    assert {line: row["flops"] for line, row in lines.items()} == {first: 10, first + 1: 10}
    assert {line: row["bytes"] for line, row in lines.items()} == {first: 2 * 40, first + 1: 3 * 40}
    assert cost.forward.intensity == 20 / 200
    backward = {int(name.split(":")[-1]): row for name, row in cost.backward.by_line.items() if ":" in name}
    assert backward[first]["flops"] == 10  # dy · exp(x)
    assert cost.forward_peak_bytes == 3 * 40  # x, y, y·y: each is alive while the next is computed
    assert cost.peak_bytes >= cost.forward_peak_bytes


def at_line(work, line):
    return sum(row["flops"] for name, row in work.by_line.items() if name.endswith(f":{line}"))


def test_the_lines_of_a_loop_inside_of_a_function():
    @tf.function
    def sines(x):
        for _ in tf.range(3):
            x = tf.sin(x)
        return x

    cost = profiler.profile(sines, tf.ones([11]), output_gradients=tf.fill([11], 2.0))
    line = sines.python_function.__code__.co_firstlineno + 3
    assert (at_line(cost.forward, line), at_line(cost.backward, line)) == (33, 66)


def test_two_loops_with_one_body_are_told_apart():
    def loop():
        def cosines(x):
            for _ in tf.range(4):
                x = tf.cos(x)
            return x

        return tf.function(cosines)

    def other_loop():
        def cosines(x):
            for _ in tf.range(4):
                x = tf.cos(x)
            return x

        return tf.function(cosines)

    functions = loop(), other_loop()
    profiler.profile(functions[0], tf.ones([13]))
    cost = profiler.profile(functions[1], tf.ones([13]))
    assert cost.forward.flops == 4 * 13
    assert [at_line(cost.forward, f.python_function.__code__.co_firstlineno + 2) for f in functions] == [0, 4 * 13]


def test_all_numbers_are_json_and_the_table_names_them():
    cost = profiler.profile(lambda x, w: tf.reduce_sum(tf.tanh(x @ w)), X, W, measure=True)
    numbers = json.loads(json.dumps(cost.to_dict()))
    assert numbers["forward"]["flops"] + numbers["backward"]["flops"] == numbers["flops"] == cost.flops
    assert numbers["measured"]["seconds"] > 0 and numbers["xla"]["peak_bytes"] > 0
    text = str(cost)
    assert f"{cost.forward.flops:,}" in text and "MatMul" in text and "XLA" in text and "GFLOP/s" in text


def test_integers_and_unconnected_results_have_no_backward_pass():
    cost = profiler.profile(lambda x: tf.argmax(x), tf.ones([5]))
    assert (cost.backward.flops, cost.sources) == (0, 0)
    assert profiler.profile(lambda: tf.ones([3]) + 1.0).forward.flops == 3


def test_arrays_are_arguments_and_eager_branches_are_followed():
    def branch(x):
        return tf.exp(x) if np.sum(x) > 0 else x

    assert profiler.profile(branch, np.ones(4, "float32")).forward.flops == 4


def test_what_ran_at_once_is_counted_once():
    def masked(x):
        return tf.exp(tf.boolean_mask(x, x > 0.5))

    cost = profiler.profile(masked, tf.constant([0.0, 1.0, 2.0]))
    assert cost.forward.by_op["Exp"]["flops"] == 2


def test_bad_calls():
    with pytest.raises(TypeError, match=r"a function, a Program or a GradientTape, received 3"):
        profiler.profile(3)
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(ValueError, match=r"takes one target, received 0"):
        profiler.profile(tape)
    program = tf.function(lambda x: x * x).get_concrete_function(tf.ones([2])).program
    with pytest.raises(ValueError, match=r"takes 1 arguments, received 2"):
        profiler.profile(program, X, X)
    with pytest.raises(ValueError, match=r"leave sources and output_gradients out"):
        profiler.profile(program, X, sources=X)
    with pytest.raises(ValueError, match=r"needs the values of its arguments"):
        profiler.profile(program, measure=True)


def test_layers_are_told_apart_forward_and_backward():
    first, second = tf.Variable(tf.random.normal([64, 128])), tf.Variable(tf.random.normal([128, 10]))

    def network(x):
        for name, weight in (("first", first), ("second", second)):
            with tf.name_scope("network"), tf.name_scope(name):
                x = tf.tanh(x @ weight)
        return tf.reduce_mean(x * x)

    cost = profiler.profile(network, X, sources=[first, second])
    sizes = {"network/first": 32 * 128, "network/second": 32 * 10}
    products = {"network/first": 2 * 32 * 64 * 128, "network/second": 2 * 32 * 128 * 10}
    for name, size in sizes.items():
        assert cost.forward.by_layer[name]["flops"] == products[name] + size
    assert cost.forward.by_layer["outside"]["flops"] == 2 * 320
    assert cost.backward.by_layer["network/first"]["flops"] == products["network/first"] + 3 * sizes["network/first"]
    once = 2 * sizes["network/second"]  # of tanh's dy·(1 − y²), y² is there already: the mean is taken of it
    assert cost.backward.by_layer["network/second"]["flops"] == 2 * products["network/second"] + once
    assert "network/first" in str(cost)
    assert profiler.profile(tf.exp, X).forward.by_layer == {}


def test_the_layers_of_a_keras_model():
    model = tf.keras.Sequential([tf.keras.Input([64]), tf.keras.layers.Dense(8, "relu", name="inner"), tf.keras.layers.Dense(1)])
    cost = profiler.profile(lambda x: tf.reduce_mean(model(x) ** 2), X, sources=model.trainable_weights)
    layers = {name.split("/")[-1]: row["flops"] for name, row in cost.forward.by_layer.items()}
    assert layers["inner"] == 2 * 32 * 64 * 8 + 2 * 32 * 8  # the product, the bias, relu
    assert cost.sources == 4

"""Variables as arguments of a function: one trace for all that are alike. The numbers are TensorFlow's, unless marked."""

import gc
import weakref

import pytest

import gradtape as tf


def values(nest):
    return tf.nest.map_structure(lambda x: x.numpy().tolist(), nest)


@pytest.fixture
def traced():
    """A decorator: `tf.function`, with the list `traced.runs` of the runs of its Python code."""

    def decorate(function):
        def counted(*args):
            decorate.runs.append(args)
            return function(*args)

        return tf.function(counted)

    decorate.runs = []
    return decorate


def test_five_variables_are_one_trace(traced):
    double = traced(lambda v: v * 2.0)
    assert [double(tf.Variable(float(i))).numpy() for i in range(5)] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert len(traced.runs) == double.experimental_get_tracing_count() == 1


def test_what_is_not_alike_is_another(traced):
    same = traced(lambda v: v + 0)
    for variable in [tf.Variable(1.0), tf.Variable(1.0, trainable=False), tf.Variable([1.0]), tf.Variable(1)]:
        same(variable)
    same(tf.Variable(2.0, name="named", constraint=tf.abs))
    same(tf.constant(1.0))
    assert len(traced.runs) == 5


def test_one_variable_twice_is_another_trace(traced):
    def add(a, b):
        a.assign_add(1.0)
        return a + b

    function = traced(add)
    v, w, u = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)
    results = [function(v, w), function(w, u), function(v, v), function(u, u), function(v, u)]
    assert values([results, [v, w, u]]) == [[4.0, 6.0, 6.0, 8.0, 8.0], [4.0, 3.0, 4.0]]
    assert len(traced.runs) == function.experimental_get_tracing_count() == 2


def test_in_nests_and_branches(traced):
    def raised(d, x):
        if x > 0:
            d["a"][0].assign_add(d["b"])
        return d["a"][0] * 1.0

    function = traced(raised)
    vs = [tf.Variable(float(i)) for i in range(4)]
    one = tf.constant(1.0)
    results = [function({"a": [vs[0]], "b": vs[1]}, one), function({"a": [vs[2]], "b": vs[3]}, one)]
    results.append(function({"a": [vs[2]], "b": vs[3]}, -one))
    assert values([results, vs]) == [[1.0, 5.0, 5.0], [1.0, 1.0, 5.0, 3.0]]
    assert len(traced.runs) == 1


def test_gradients_to_each(traced):
    def inside(a, b):
        with tf.GradientTape() as tape:
            y = a * a * b
        return tape.gradient(y, [a, b])

    v, w = tf.Variable(2.0), tf.Variable(3.0)
    function, product = traced(inside), traced(lambda a, b: a * a * b)
    assert values([function(v, w), function(w, v)]) == [[12.0, 4.0], [12.0, 9.0]]
    for pair, expected in [((v, w), [12.0, 4.0]), ((w, v), [12.0, 9.0])]:
        with tf.GradientTape() as tape:
            y = product(*pair)
        assert values(tape.gradient(y, pair)) == tuple(expected)
    assert len(traced.runs) == 2


def test_functions_in_functions(traced):
    def count(v):
        v.assign_add(1.0)
        return v * 2.0

    inner = traced(count)
    outer = tf.function(lambda a, b: inner(a) + inner(b))
    v, w, u = [tf.Variable(float(i)) for i in range(3)]
    assert values([outer(v, w), outer(w, u), [v, w, u]]) == [6.0, 12.0, [1.0, 3.0, 3.0]]
    assert len(traced.runs) == 1


def test_keras_variables_and_methods(traced):
    class Scaled(tf.Module):
        def __init__(self):
            self.w = tf.Variable(2.0)

        @tf.function
        def __call__(self, v):
            traced.runs.append(v)
            return self.w * v

    scaled = Scaled()
    assert values([scaled(tf.Variable(3.0)), scaled(tf.Variable(4.0))]) == [6.0, 8.0]
    assert scaled(scaled.w).numpy() == 4.0
    with tf.GradientTape() as tape:
        y = scaled(scaled.w)
    assert tape.gradient(y, scaled.w).numpy() == 4.0
    double = traced(lambda v: v * 2.0)
    before = len(traced.runs)
    assert values([double(tf.keras.Variable(1.0)), double(tf.keras.Variable(2.0))]) == [2.0, 4.0]
    assert len(traced.runs) == before + 1


def test_an_input_signature_and_defaults():
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([], tf.float32)])
    v, w = tf.Variable(3.0), tf.Variable(4.0)
    assert values([function(v), function(w)]) == [6.0, 8.0]

    @tf.function
    def scaled(x, by=v):
        return x * by

    assert values([scaled(2.0), scaled(2.0, w), v.assign(5.0) and scaled(2.0)]) == [6.0, 8.0, 10.0]


def test_a_concrete_function():
    v = tf.Variable(1.0)
    function = tf.function(lambda a: a * 2.0)
    concrete = function.get_concrete_function(v)
    assert concrete is function.get_concrete_function(tf.Variable(5.0))
    with pytest.raises(ValueError, match=r"takes a tf\.Variable as an argument"):
        concrete._traced.inputs([])  # what an export asks for
    assert concrete.variables == () and concrete.captured_inputs == []
    assert str(concrete.function_type.parameters["a"].type_constraint) == (
        "VariableSpec(shape=(), dtype=tf.float32, trainable=True, alias_id=0)"
    )
    assert values([concrete(v), concrete(tf.Variable(7.0)), concrete(tf.Variable([7.0]))]) == [2.0, 14.0, [14.0]]
    for arguments in [(), (tf.constant(1.0),), (tf.Variable(1),)]:
        with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
            concrete(*arguments)


def test_they_are_not_kept_alive():
    function = tf.function(lambda a: a * 2.0)
    v = tf.Variable(1.0)
    function(v)
    held = weakref.ref(v)
    del v
    gc.collect()
    assert held() is None
    assert function(tf.Variable(3.0)).numpy() == 6.0


def test_a_function_that_runs_as_eager_code_takes_each(traced):
    def kept(v, x):
        v.assign_add(1.0)
        return tf.boolean_mask(x, x > v)

    function = traced(kept)
    v, w, x = tf.Variable(0.0), tf.Variable(1.0), tf.constant([1.0, 2.0, 3.0])
    assert values([function(v, x), function(w, x), [v, w]]) == [[2.0, 3.0], [3.0], [1.0, 2.0]]


@pytest.mark.better  # TensorFlow takes the argument for the variable from outside, too: 101 and 202
def test_a_variable_that_the_function_uses_from_outside_too(traced):
    g = tf.Variable(10.0)
    held = {"deep": [tf.Module()]}
    held["deep"][0].v = g
    function = traced(lambda a: a * 100.0 + g)
    assert values([function(g), function(tf.Variable(1.0)), function(tf.Variable(2.0))]) == [1010.0, 110.0, 210.0]
    assert len(traced.runs) == 2
    function = traced(lambda a: a * 100.0 + held["deep"][0].v)
    assert values([function(g), function(tf.Variable(1.0)), function(g)]) == [1010.0, 110.0, 1010.0]
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.build((None, 2))

    @tf.function
    def gradients(x, variables):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(model(x) ** 2)
        return tape.gradient(y, variables)

    assert values(gradients(tf.ones([1, 2]), model.trainable_variables)) == [[[4.0], [4.0]], [4.0]]


def test_what_a_function_assigns_from_outside_and_as_its_argument():
    g, h = tf.Variable(10.0), tf.Variable(1.0)

    @tf.function
    def assigned(a):
        a.assign(5.0)
        return a * 100.0 + g

    assert values([assigned(h), assigned(g), g, h]) == [510.0, 505.0, 5.0, 5.0]

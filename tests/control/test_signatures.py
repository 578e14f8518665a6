"""What a function takes, and what stands in it: signatures, arguments, the errors of what does not fit; as in TensorFlow."""

import dataclasses
import functools
import importlib.util
import inspect

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError


def test_a_signature_has_a_spec_for_each_argument_without_a_default():
    one = [tf.TensorSpec([None], tf.float32)]
    with pytest.raises(TypeError, match="input_signature missing type constraint for y"):
        tf.function(lambda x, y: x, input_signature=one)
    assert tf.function(lambda x, y=2.0: x * y, input_signature=one)([1.0]).numpy() == [2.0]

    class Model:
        @tf.function(input_signature=one)
        def double(self, x):
            return 2.0 * x

    assert Model().double([1.0]).numpy() == [2.0]


def test_a_nest_of_specs_takes_lists_of_numbers():
    specs = [{"a": tf.TensorSpec([None], tf.float32), "b": [tf.TensorSpec([], tf.int32)]}]
    f = tf.function(lambda d: d["a"] * tf.cast(d["b"][0], tf.float32), input_signature=specs)
    assert f({"a": [1.0, 2.0], "b": [2]}).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="don't have the same nested structure"):
        f({"b": [2]})
    with pytest.raises(TypeError, match=r"Can not cast .* to a Dict type"):
        f(tf.constant(1.0))


@pytest.mark.parametrize("argument", [{1, 2}, [{1}]])
def test_an_argument_that_cannot_be_hashed(argument):
    with pytest.raises(TypeError, match="Could not generate a generic TraceType"):
        tf.function(lambda x, y: x)(tf.constant(1.0), argument)


def test_a_lambda_of_a_file_that_was_run_and_not_imported(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import gradtape as tf\nf = tf.function(lambda x, scale=2.0: x * scale if x > 0 else -x)\n")
    spec = importlib.util.spec_from_file_location("not_in_sys_modules", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [module.f(tf.constant(v)).numpy() for v in (3.0, -1.0)] == [6.0, 1.0]


@pytest.mark.parametrize("specs", [[(2, 3)], [3], [None], [tf.float32], {"a": tf.TensorSpec([])}])
def test_a_signature_of_something_else(specs):
    with pytest.raises(TypeError, match="input_signature must be"):
        tf.function(lambda a: a, input_signature=specs)


SCALAR = tf.TensorSpec([], tf.int32)


@pytest.mark.parametrize(
    ("function", "specs", "args", "kwargs"),
    [
        (lambda a, b=5: a + b, [SCALAR], (1, 7), {}),  # a default is the only value where there is no spec for it
        (lambda a, b=5: a + b, [SCALAR], (1,), {"b": 7}),
        (lambda a, *, b=5: a + b, [SCALAR], (1,), {"b": 7}),
        (lambda a, **kwargs: a, [SCALAR], (1,), {"b": 5}),
        (lambda *a: a, [SCALAR] * 2, (1, 2, 3), {}),
        (lambda *a: a, [SCALAR] * 2, (1,), {}),
        (lambda a: a, [[SCALAR] * 2], ((1, 2),), {}),
        (lambda a: a, [tf.TensorSpec([2])], ({"a": [1.0, 2.0]},), {}),
        (lambda a: a, [tf.TensorSpec([2])], (tf.ones([3]),), {}),
    ],
)
def test_what_does_not_fit_a_signature(function, specs, args, kwargs):
    with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
        tf.function(function, input_signature=specs)(*args, **kwargs)


def test_what_fits_a_signature():
    assert tf.function(lambda a, b=5: a + b, input_signature=[SCALAR])(1, b=5).numpy() == 6
    assert tf.function(lambda a, *, b=5: a + b, input_signature=[SCALAR] * 2)(1, b=7).numpy() == 8
    assert tf.function(lambda *a: a[0] + a[1], input_signature=[SCALAR] * 2)(1, 2).numpy() == 3
    single = tf.function(lambda a: a, input_signature=[tf.TensorSpec([None], tf.float32)])
    for value in (np.ones(2), np.ones(2, np.int32), tf.Variable([1.0, 1.0]), [1, 1.0]):
        assert (single(value).dtype, single(value).numpy().tolist()) == (tf.float32, [1.0, 1.0])


@pytest.mark.parametrize(
    ("function", "specs", "why"),
    [
        (lambda a, *, b: a, [SCALAR], "keyword-only parameter `b` must have a default"),
        (lambda a: a, [SCALAR] * 2, "1 extra type constraints"),
    ],
)
def test_a_signature_that_a_function_cannot_have(function, specs, why):
    with pytest.raises(TypeError, match=why):
        tf.function(function, input_signature=specs)


def test_keywords_that_are_the_same_name():
    with pytest.raises(ValueError, match="Name collision after sanitization"):
        tf.function(lambda **kwargs: kwargs["a_b"] + kwargs["a/b"])(**{"a_b": 1, "a/b": 2})


@pytest.mark.parametrize(
    "change",
    [
        lambda nest: nest["list"].append(1.0),
        lambda nest: nest["list"].reverse(),
        lambda nest: nest["list"].__setitem__(0, nest["list"][0] + 1.0),
        lambda nest: nest.pop("t"),
        lambda nest: nest.update(t=tf.constant(3.0)),
    ],
)
def test_a_function_must_not_change_the_lists_and_dicts_that_it_is_given(change):
    @tf.function
    def f(nest):
        change(nest)
        return nest["list"][0]

    with pytest.raises(ValueError, match="should not modify its Python input arguments"):
        f({"list": [tf.constant(1.0), tf.constant(2.0)], "t": tf.constant(0.0)})


def test_a_class_of_numbers_is_an_argument():
    f = tf.function(lambda x, dtype: tf.constant(dtype(x)))
    assert [f(1, kind).dtype for kind in (np.float32, np.int32)] == [tf.float32, tf.int32]


@dataclasses.dataclass
class Masked:
    mask: list
    value: tf.Tensor

    def __tf_flatten__(self):
        return (self.mask,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*metadata, *components)


def test_a_class_that_says_what_it_is_made_of():
    f = tf.function(lambda m: Masked(m.mask + [False], m.value * 2.0))
    result = f(Masked([True], tf.constant([1.0])))
    assert (type(result), result.mask, result.value.numpy().tolist()) == (Masked, [True, False], [2.0])
    assert len(tf.nest.flatten(result)) == 1
    concrete = [f.get_concrete_function(Masked(mask, tf.constant([v]))) for mask, v in (([True], 1.0), ([True], 2.0), ([], 2.0))]
    assert (concrete[0] is concrete[1], concrete[0] is concrete[2]) == (True, False)


class Pair(Masked):
    def __tf_unflatten__(self, metadata, components):
        return Pair(*metadata, *components)


def test_a_class_whose_unflatten_is_a_method_of_its_instances():
    result = tf.nest.map_structure(lambda x: x * 2.0, Pair([True], tf.constant([1.0])))
    assert (type(result), result.mask, result.value.numpy().tolist()) == (Pair, [True], [2.0])
    (element,) = tf.data.Dataset.from_tensors(result)
    assert (type(element), element.mask, element.value.numpy().tolist()) == (Pair, [True], [2.0])


class Settings:
    def __init__(self, rate):
        self.rate = rate

    def __eq__(self, other):
        return isinstance(other, Settings) and self.rate == other.rate

    def __hash__(self):
        return hash(self.rate)


class Kind(tf.types.experimental.TraceType):
    def __init__(self, unit):
        self.unit = unit

    def __eq__(self, other):
        return isinstance(other, Kind) and self.unit.factor == other.unit.factor

    def __hash__(self):
        return hash(self.unit.factor)

    def placeholder_value(self, placeholder_context):
        return self.unit


class Unit:
    def __init__(self, factor, name, kind=Kind):
        self.factor, self.name, self.kind = factor, name, kind

    def __tf_tracing_type__(self, context):
        return self.kind(self)


def test_objects_of_one_tracing_type_share_a_trace():
    seen = []
    f = tf.function(lambda x, units: (seen.append(units["a"].name), x * units["a"].factor)[1])
    units = [Unit(3.0, "m"), Unit(3.0, "n"), Unit(4.0, "o")]
    assert [f(tf.constant(2.0), {"a": unit}).numpy() for unit in units] == [6.0, 6.0, 8.0]
    assert seen == ["m", "o"]
    with pytest.raises(TypeError, match="Expected an instance of TraceType for Tracing Protocol call"):
        f(tf.constant(2.0), {"a": Unit(3.0, "m", kind=lambda unit: 3)})


# -- branches


def test_cases_that_exclude_each_other_or_leave_one_out():
    def f(x, **kwargs):
        return tf.case([(x < 1.0, lambda: x * 10.0), (x < 2.0, lambda: x * 20.0)], **kwargs)

    g = tf.function(f)
    assert [g(tf.constant(v)).numpy() for v in (0.5, 1.5)] == [5.0, 30.0]
    with pytest.raises(Invalid, match="None of conditions evaluated as True"):
        g(tf.constant(3.0))
    exclusive = tf.function(lambda x: f(x, exclusive=True, default=lambda: x))
    assert [exclusive(tf.constant(v)).numpy() for v in (1.5, 3.0)] == [30.0, 3.0]
    with pytest.raises(Invalid, match="exclusive=True: more than 1 conditions evaluated as True"):
        exclusive(tf.constant(0.5))
    assert f(tf.constant(0.5), exclusive=True).numpy() == 5.0  # eager code takes the first


def test_branches_that_are_not_numbered_from_zero():
    branches = {1: lambda: tf.constant(10), 3: lambda: tf.constant(30)}
    with pytest.raises(ValueError, match="must form contiguous range of"):
        tf.switch_case(tf.constant(1), branches)
    with pytest.raises(TypeError, match="'branch_index' must be a Tensor"):
        tf.switch_case(1, [lambda: 1, lambda: 2])
    with pytest.raises(TypeError, match="'branch_index' must be a Tensor"):
        tf.switch_case(1, [])
    with pytest.raises(Invalid, match="branch_index must be a scalar"):
        tf.switch_case(tf.constant([0]), [lambda: 1])


def test_a_number_that_none_of_the_branches_has_takes_the_last(compiled_early):
    choose = tf.function(lambda i: tf.switch_case(i, [lambda: 0.0, lambda: 1.0, lambda: 2.0]))
    assert [float(choose(tf.constant(i))) for i in (-2, -1, 0, 1, 2, 3)] == [2.0, 2.0, 0.0, 1.0, 2.0, 2.0]


def test_what_is_no_condition():
    with pytest.raises(TypeError, match="pred must be a Tensor of type bool"):
        tf.case([(1, lambda: 1)])
    with pytest.raises(ValueError, match="at least"):
        tf.case([])
    for cond in (lambda i: 3 - i, lambda i: tf.constant([True, False])):
        with pytest.raises(Invalid, match="must be a boolean scalar"):
            tf.function(lambda cond=cond: tf.while_loop(cond, lambda i: [i + 1], [0]))()


def test_a_python_bool_decides_in_eager_code_only():
    assert tf.cond(True, lambda: 1.0, lambda: 2.0) == 1.0
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        tf.function(lambda x: tf.cond(True, lambda: x, lambda: -x))(tf.constant(1.0))


def test_an_assert_has_a_message_in_a_graph():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        checked = tf.Assert(x > 1.0, ["x is too small", x])
        assert session.run(checked, {x: 2.0}) is None
        with pytest.raises(Invalid, match="x is too small"):
            session.run(checked, {x: 0.0})


# -- loops


def bound_in_loop(n):
    for i in tf.range(n):
        y = i * 2
    return y


def bound_by_a_while(x):
    y = None
    while x < 10.0:
        y = x
        x = x * 2.0
    return y


def bound_in_rows(x):
    y = None
    for row in x:
        y = row
    return y


@pytest.mark.parametrize(
    "function, some, result, none",
    [
        (bound_in_loop, tf.constant(3), 4, tf.constant(0)),
        (bound_by_a_while, tf.constant(1.0), 8.0, tf.constant(20.0)),
        (bound_in_rows, tf.constant([1.0, 5.0]), 5.0, tf.zeros([0])),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_a_name_that_a_loop_binds_asks_for_one_trip(function, some, result, none):
    f = tf.function(function)
    assert f(some).numpy() == result
    with pytest.raises(Invalid, match="loop must iterate at least once to initialize y"):
        f(none)


def test_an_array_grows_where_it_ends():
    @tf.function
    def squares(n):
        array = tf.TensorArray(tf.int32, 0, dynamic_size=True)
        i = tf.constant(0)
        while i < n:
            array = array.write(array.size(), i * i)
            i += 1
        return array.stack()

    @tf.function
    def numbers(n):
        start = [0, tf.TensorArray(tf.int32, 0, dynamic_size=True)]
        _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(a.size(), i)), start)
        return array.stack()

    assert squares(tf.constant(4)).numpy().tolist() == [0, 1, 4, 9]
    assert numbers(tf.constant(3)).numpy().tolist() == [0, 1, 2]


def test_sizes_of_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="Size must be declared"):
        tf.TensorArray(tf.float32)
    with pytest.raises(Invalid, match=r"not equal to the size of lengths \(2 vs. 3\)"):
        tf.TensorArray(tf.float32, 2).split([1.0, 2.0, 3.0, 4.0], [1, 2, 1])
    with pytest.raises(Invalid, match="at least a vector"):
        tf.TensorArray(tf.float32, 1).split(1.0, [1])
    with pytest.raises(Invalid, match="trying to write dtype string"):
        tf.TensorArray(tf.float32, 1).write(0, "text")
    assert tf.TensorArray(tf.float32, 5).unstack([1.0, 2.0]).size().numpy() == 2


def test_entries_that_were_never_written_are_zeros_where_their_shape_is_known():
    array = tf.TensorArray(tf.float32, 3).write(1, [[4.0, 5.0]])
    assert array.concat().numpy().tolist() == [[0.0, 0.0], [4.0, 5.0], [0.0, 0.0]]
    for ask in (lambda a: a.read(0), lambda a: a.stack(), lambda a: a.concat()):
        with pytest.raises(ValueError, match=r"not fully defined|non-fully-defined"):
            ask(tf.TensorArray(tf.float32, 3))
        with pytest.raises(Invalid, match=r"not fully defined|non-fully-defined"):
            tf.function(lambda ask=ask: ask(tf.TensorArray(tf.float32, 3)))()


@pytest.mark.parametrize(
    "ask, eager, message",
    [
        (lambda a: a.write(-1, 1.0), "negative indices .index -1.", "Trying to modify element -1 in a list with 2 elements"),
        (lambda a: a.write(2, 1.0), "Tried to write to index 2 but array is not resizeable", "Trying to modify element 2"),
        (lambda a: a.read(2), "Tried to read from index 2 but array size is: 2", "Trying to access element 2 in a list"),
    ],
)
def test_entries_that_are_not_there(ask, eager, message):
    def f():
        return tf.constant(0) if ask(tf.TensorArray(tf.float32, 2, element_shape=[])) is None else tf.constant(1)

    with pytest.raises(tf.errors.OutOfRangeError, match=eager):
        f()
    with pytest.raises(Invalid, match=message):
        tf.function(f)()


LOOPS = {
    "while_loop": lambda x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x], back_prop=False)[1],
    "map_fn": lambda x: tf.map_fn(lambda a: a * a, x, back_prop=False),
    "scan": lambda x: tf.scan(lambda a, e: a * e, x, back_prop=False),
    "foldl": lambda x: tf.foldl(lambda a, e: a * e, x, back_prop=False),
    "foldr": lambda x: tf.foldr(lambda a, e: a * e, x, back_prop=False),
}


@pytest.mark.parametrize("name", LOOPS)
def test_no_gradient_without_back_prop_in_a_function(name):
    x = tf.constant([1.0, 2.0])
    found = []
    for function in (LOOPS[name], tf.function(LOOPS[name])):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found.append(tape.gradient(y, x) is None)
    assert found == [False, True]  # in eager code it means nothing


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "float32", float, tf.float32, tf.TensorSpec([], tf.float32)])
def test_a_dtype_is_stated_in_each_of_its_forms(dtype):
    x = tf.constant([1.0, 2.0])
    assert tf.map_fn(lambda row: row + 1.0, x, dtype=dtype).numpy().tolist() == [2.0, 3.0]
    assert [y.dtype for y in tf.map_fn(lambda row: (row, row > 1.0), x, dtype=(dtype, np.bool_))] == [tf.float32, tf.bool]
    row = x[0]
    assert tf.py_function(lambda value: value + 1.0, [row], dtype).numpy() == 2.0
    assert tf.py_function(lambda value: (value, value), [row], (dtype, dtype))[1].dtype == tf.float32


def test_results_of_map_fn_and_scan_are_nested_as_is_said():
    pair = (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        tf.map_fn(lambda a: a[0], pair)
    with pytest.raises(TypeError, match="don't have the same nested structure"):
        tf.map_fn(lambda a: (a, a), pair[0], fn_output_signature=[tf.float32, tf.float32])
    with pytest.raises(TypeError, match="don't have the same nested structure"):
        tf.scan(lambda a, e: [a[0] + e, a[1]], pair[0], initializer=(0.0, 0.0))


# -- across functions


def test_rows_stay_rows_across_functions():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    inner = tf.function(lambda i: tf.gather(table, i))
    outer = tf.function(lambda i: inner(i) * 2.0 + tf.nn.embedding_lookup(table, i))
    mixed = tf.function(lambda i: inner(i) + tf.reduce_sum(table))
    ids = tf.constant([0, 2])
    with tf.GradientTape(persistent=True) as tape:
        y, z, w = inner(ids), outer(ids), mixed(ids)
    d = tape.gradient(y, table)
    assert isinstance(d, tf.IndexedSlices)
    assert d.indices.numpy().tolist() == [0, 2]
    assert d.dense_shape.numpy().tolist() == [3, 2]
    both = tape.gradient(z, table)
    assert isinstance(both, tf.IndexedSlices)
    assert tf.convert_to_tensor(both).numpy().tolist() == [[3.0, 3.0], [0.0, 0.0], [3.0, 3.0]]
    dense = tape.gradient(w, table)
    assert isinstance(dense, tf.Tensor)
    assert dense.numpy().tolist() == [[5.0, 5.0], [4.0, 4.0], [5.0, 5.0]]


def test_tuple_takes_indexed_slices():
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert tf.tuple([slices, tf.constant(1.0)])[0] is slices


def test_a_numpy_function_sees_scalars_in_a_function_and_gives_the_dtype_that_it_says():
    kinds = []

    def look(*values):
        kinds.append([type(v).__name__ for v in values])
        return np.float32(0)

    def call(x, y):
        return tf.numpy_function(look, [x, y], tf.float32)

    call(tf.constant(1.0), tf.constant([1]))
    tf.function(call)(tf.constant(1.0), tf.constant([1]))
    assert kinds == [["ndarray", "ndarray"], ["float32", "ndarray"]]

    def giving(result):
        return tf.function(lambda x: tf.numpy_function(lambda v: result, [x], tf.float32))

    for result in (np.float64(1.0), 1.0):
        with pytest.raises(Invalid, match="returned dtype float64, where Tout says float32"):
            giving(result)(tf.constant(1.0))
    with pytest.raises(Invalid, match="returned dtype float64, where Tout says float32"):
        tf.py_function(lambda v: tf.cast(v, tf.float64), [1.0], tf.float32)


@pytest.mark.parametrize("value, dtype", [(1.5, "int32"), (2, "bool"), (1j, "float32"), (300, "int8")])
def test_a_python_number_that_the_stated_dtype_does_not_have(value, dtype):
    def call():
        return tf.py_function(lambda: value, [], dtype)

    for run in (call, tf.function(call)):
        with pytest.raises(Invalid, match=rf"(?s)Error: .*{dtype}"):
            run()


def test_a_python_number_becomes_what_is_stated():
    stated = [(1, tf.float32), (1.5, tf.float64), (True, tf.int32)]

    def call():
        return [tf.py_function(functools.partial(type(value), value), [], dtype) for value, dtype in stated]

    for run in (call, tf.function(call)):
        assert [(y.dtype.name, y.numpy()) for y in run()] == [("float32", 1.0), ("float64", 1.5), ("int32", 1)]


def test_a_numpy_function_in_eager_code_gives_what_numpy_gives():
    def results(function, *inputs):
        found = tf.numpy_function(function, inputs, tf.float32)
        return found if found is None or isinstance(found, list) else [found.dtype.name, np.asarray(found.numpy()).tolist()]

    assert results(np.sinh, 1.0)[0] == "float64"
    assert results(lambda x: x * 2, tf.constant([1.0])) == ["float32", [2.0]]
    assert results(lambda: "text") == ["string", b"text"]
    assert results(lambda x: None, 1) is None
    assert [t.dtype.name for t in results(lambda x, y: ((x, 1), {"a": y}), 1.0, tf.Variable(2.0))] == [
        "float64",
        "int32",
        "float32",
    ]
    kept = tf.Variable([1.0, 2.0])
    results(lambda x: x.fill(0), kept)
    assert kept.numpy().tolist() == [1.0, 2.0]


def test_inspect_finds_the_signature_of_functions_and_methods():
    class Holder:
        @tf.function(input_signature=[tf.TensorSpec([None])])
        def call(self, x):
            return x

    assert str(inspect.signature(tf.function(lambda a, b=2: a))) == "(a, b=2)"
    assert str(inspect.signature(Holder().call)) == "(x)"
    assert str(inspect.signature(Holder.call)) == "(self, x)"


def test_python_functions_give_shapes_that_nobody_stated():
    """In a loop, with set_shape behind it, as the guides write it; and in a graph."""

    def look(a):
        return np.full(4, a, np.float32), np.int32(1)

    @tf.function
    def played(start):
        state, total = start, tf.constant(0)
        for t in tf.range(3):
            state, reward = tf.numpy_function(look, [t], [tf.float32, tf.int32])
            state.set_shape(start.shape)
            total += tf.ensure_shape(reward, [])
            if total > 1:
                break
        return state, total

    state, total = played(tf.zeros(4))
    np.testing.assert_array_equal(state, [1.0] * 4)
    assert total == 2

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [2, 2])
        rows = tf.numpy_function(lambda a: a.sum(0), [x], tf.float32)
        squares = tf.py_function(lambda a: a * a, [x], tf.float32)
        assert str(rows.shape) == str(squares.shape) == "<unknown>"
        gradient = tf.gradients(tf.reduce_sum(squares * x), x)[0]
        column = tf.reshape(rows, [2, 1])
        rows.set_shape([2])
        results = session.run([column, gradient, rows * 2.0], {x: [[1, 2], [3, 4]]})
    np.testing.assert_array_equal(results[0], [[4], [6]])
    np.testing.assert_array_equal(results[1], [[3, 12], [27, 48]])
    np.testing.assert_array_equal(results[2], [8, 12])


@pytest.mark.parametrize("kind", [tf.numpy_function, tf.py_function])
def test_a_new_python_function_is_no_new_program(kind):
    v = tf.Variable([1.0, 2.0])

    def step():
        with tf.GradientTape() as tape:
            y = kind(lambda a: a * 2.0, [v * 3.0], tf.float32) * v
        return tape.gradient(y, v).numpy()

    first = step()
    step()
    before = tf.config.cache_info()["programs"]
    np.testing.assert_array_equal(step(), first)
    np.testing.assert_array_equal(first, [6.0, 12.0] if kind is tf.numpy_function else [12.0, 24.0])
    assert tf.config.cache_info()["programs"] == before


SPECS = {
    "tensor": tf.TensorSpec([2]),
    "ragged": tf.RaggedTensorSpec([None, None]),
    "slices": tf.IndexedSlicesSpec(),
    "dataset": tf.data.DatasetSpec(tf.TensorSpec([])),
    "variable": tf.type_spec_from_value(tf.Variable([1.0, 2.0])),
}


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize("nested", [lambda spec: spec, lambda spec: [spec], lambda spec: {"a": spec}])
def test_a_spec_is_no_argument_of_a_call(kind, nested):
    """Of `get_concrete_function` it is one."""
    given = nested(SPECS[kind])
    function = tf.function(lambda x: 1.0)
    concrete = function.get_concrete_function(given)
    for call in (function, concrete, lambda x: function(x=x)):
        with pytest.raises(ValueError, match=r"A call takes values\. Give a spec to get_concrete_function"):
            call(given)


def test_equal_objects_share_a_trace():
    class Setting:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __hash__(self):
            return hash(self.value)

    function = tf.function(lambda x, setting: x)
    kept = [Setting(1), Setting(1), Setting(2), tf.TensorShape([1]), tf.TensorShape([1])]
    for setting in kept:
        function(1.0, setting)
    assert function.experimental_get_tracing_count() == 3


def test_names_of_specs_are_in_the_printed_signature():
    traced = tf.function(lambda x, y: x + y).get_concrete_function(tf.TensorSpec([], name="given"), tf.TensorSpec([]))
    assert "x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.float32, name='given')" in traced.pretty_printed_signature()
    assert "y (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.float32, name=None)" in traced.pretty_printed_signature()

"""Tensors of strings: array ops and `tf.strings`, with TensorFlow's answers, and how they get on with everything else."""

import re

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution, stages
from gradtape._src.core.programs.op import ops
from tests.ops.strings.string_calls import ERRORS, VALUES


def plain(result):
    """A result as Python's lists, numbers and bytes."""
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    value = result.numpy() if hasattr(result, "numpy") else result
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_value_is_tensorflows(number):
    call, expected = VALUES[number]
    assert repr(plain(call())) == repr(expected)


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_error_is_tensorflows(number):
    call, kind, words = ERRORS[number]
    with pytest.raises(kind, match=words):
        call()


# What the kernel for strings does to strings is what the kernel for numbers does to their numbers.
MOVED = {
    "reshape": lambda x: tf.reshape(x, [4, 6]),
    "transpose": lambda x: tf.transpose(x, [2, 0, 1]),
    "squeeze": lambda x: tf.squeeze(x[:1]),
    "tile": lambda x: tf.tile(x, [2, 1, 3]),
    "reverse": lambda x: tf.reverse(x, [0, 2]),
    "roll": lambda x: tf.roll(x, [1, -2], [0, 2]),
    "gather": lambda x: tf.gather(x, [[2, 0], [1, 1]], axis=1),
    "gather_rows": lambda x: tf.gather(x, [[2, 0], [1, 1]], axis=2, batch_dims=1),
    "gather_nd": lambda x: tf.gather_nd(x, [[[0, 2], [1, 1]]]),
    "gather_nd_rows": lambda x: tf.gather_nd(x, [[[2], [0]], [[1], [1]]], batch_dims=1),
    "slice": lambda x: tf.slice(x, [0, 1, 1], [2, 1, -1]),
    "strided": lambda x: x[::-1, tf.newaxis, 1, 3:0:-2],
    "mask": lambda x: x[tf.constant([[True, False, True], [False, False, True]])],
    "concat": lambda x: tf.concat([x, x[:, :1]], 1),
    "split": lambda x: tf.concat(tf.split(x, [1, 3], axis=2)[::-1], 2),
    "stack": lambda x: tf.stack(tf.unstack(x, axis=1), axis=2),
    "mirror": lambda x: tf.pad(x, [[1, 1], [0, 2], [3, 0]], mode="REFLECT"),
    "where": lambda x: tf.where([True, False, True, False], x, x[:, :1, :1]),
    "repeat": lambda x: tf.repeat(x, [1, 0, 2], axis=1),
    "partition": lambda x: tf.concat(tf.dynamic_partition(x, [1, 0], 2), 0),
    "stitch": lambda x: tf.dynamic_stitch([[1], [0]], [x[:1], x[1:]]),
    "sequences": lambda x: tf.reverse_sequence(x, [3, 1], seq_axis=2, batch_axis=0),
    "update": lambda x: tf.tensor_scatter_nd_update(x, [[0, 1], [1, 0]], x[1, :2]),
    "unique": lambda x: tf.unique(tf.reshape(x[:, :, 0], [-1])).y,
    "broadcast": lambda x: tf.broadcast_to(x[:, :1], [2, 5, 4]),
}


@pytest.mark.parametrize("name", MOVED)
def test_strings_move_as_numbers_do(name):
    numbers = np.arange(24, dtype=np.int32).reshape(2, 3, 4) // 2
    words = np.array([f"word {n}".encode() for n in range(12)], object)
    of_numbers = MOVED[name](tf.constant(numbers)).numpy()
    of_strings = MOVED[name](tf.constant(words[numbers]))
    assert of_strings.dtype == tf.string
    assert of_strings.numpy().tolist() == words[of_numbers].tolist()
    in_function = tf.function(MOVED[name])(tf.constant(words[numbers]))
    assert in_function.numpy().tolist() == words[of_numbers].tolist()


def test_an_op_takes_strings_or_refuses_them():
    """No op of one tensor gives numbers for strings by accident."""
    taken = {type for type, op in ops.items() if op.strings is not None}
    assert {"Identity", "Reshape", "GatherV2", "ConcatV2", "Equal", "AddV2", "SelectV2"} <= taken
    assert not taken & {"Mul", "MatMul", "Sum", "Cast", "Less", "Relu"}


class TestValues:
    def test_nuls_at_the_end_are_kept(self):
        assert tf.constant("a\0").numpy() == b"a\0"
        assert tf.constant([["a\0", "b"]]).numpy().tolist() == [[b"a\0", b"b"]]
        assert (tf.constant("a\0") + b"b\0").numpy() == b"a\0b\0"
        words = tf.constant(["a\0"])
        for scalar in (tf.gather(words, 0), tf.gather_nd(words, [0]), words[0], tf.pad(words[0], np.zeros((0, 2), np.int32))):
            assert scalar.numpy() == b"a\0"

    def test_places_without_a_value_are_empty(self):
        words = tf.constant(["a", "b"])
        assert tf.pad(words, [[1, 0]]).numpy().tolist() == [b"", b"a", b"b"]
        assert tf.scatter_nd([[2]], ["a"], [3]).numpy().tolist() == [b"", b"", b"a"]
        assert tf.gather_nd(words, [[1], [5]], bad_indices_policy="IGNORE").numpy().tolist() == [b"b", b""]
        assert tf.gather_nd(words[:0], [[0]], bad_indices_policy="IGNORE").numpy().tolist() == [b""]
        assert tf.dynamic_stitch([[0], [2]], [["a"], ["b"]]).numpy().tolist() == [b"a", b"", b"b"]

    def test_a_scalar_is_bytes_and_an_array_of_objects(self):
        assert type(tf.constant("é").numpy()) is bytes
        array = tf.constant(["a", "b"]).numpy()
        assert array.dtype == object
        array[0] = b"z"
        assert tf.constant(["a", "b"]).numpy()[0] == b"a"

    def test_printed(self):
        assert str(tf.constant("abc") + "d") == "tf.Tensor(b'abcd', shape=(), dtype=string)"
        assert repr(tf.constant(["a"]) + "d") == "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'ad'], dtype=object)>"

    def test_of_variables(self):
        v = tf.Variable(["a", "b"])
        v.assign(v + "x")
        v[0].assign("q")
        v.scatter_nd_update([[1]], ["z"])
        assert v.numpy().tolist() == [b"q", b"z"]

    def test_scalar_hash_buckets_of_all_lengths(self):
        found = tf.strings.to_hash_bucket_fast([b"x" * n for n in (64, 65, 128, 129)], 2**62).numpy().tolist()
        assert found == [2304502108871267256, 323337772074164025, 1256696753479420951, 3958089325734133430]


class TestFunctions:
    def test_traced_once(self):
        traces = []

        @tf.function
        def twice(x):
            traces.append(x)
            return x + x

        assert [twice(tf.constant(w)).numpy() for w in ("a", "b\0")] == [b"aa", b"b\0b\0"]
        assert twice(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
        assert len(traces) == 2

    def test_numbers_go_on_in_compiled_code(self):
        @tf.function
        def f(words, x):
            count = tf.cast(tf.strings.length(words), tf.float32)
            return tf.reduce_sum(count * x * x), words[0] + tf.as_string(tf.reduce_max(count), precision=1)

        total, text = f(tf.constant(["ab", "cde"]), tf.constant([1.0, 2.0]))
        assert (total.numpy(), text.numpy()) == (14.0, b"ab3.0")
        program = f.get_concrete_function(tf.constant(["a", "b"]), tf.constant([1.0, 2.0])).program
        pieces = [stage[0] for stage in stages.of(program, execution.intern).made if type(stage[0]) is not tuple]
        assert len(pieces) == 2 and all(not piece.hosted for piece in pieces)

    def test_constants_cost_nothing(self):
        """What depends on constant strings only is done while the function is traced."""

        @tf.function
        def f(x):
            return x * tf.cast(tf.strings.length(tf.constant("ab") + "c"), tf.float32), tf.constant("name")

        number, text = f(tf.constant(2.0))
        assert (number.numpy(), text.numpy()) == (6.0, b"name")
        assert not f.get_concrete_function(tf.constant(2.0)).program.hosted

    def test_branches(self):
        @tf.function
        def f(word):
            if tf.strings.length(word) > 2:
                kind = "long"
            elif word == "a":
                kind = tf.constant("short ") + word
            else:
                kind = tf.strings.upper(word)
            return kind

        assert [f(tf.constant(w)).numpy() for w in ("abc", "a", "b")] == [b"long", b"short a", b"B"]
        chosen = tf.function(lambda p: tf.cond(p, lambda: tf.constant("yes"), lambda: tf.constant("no")))
        assert [chosen(tf.constant(p)).numpy() for p in (True, False)] == [b"yes", b"no"]
        case = tf.function(lambda i: tf.switch_case(i, [lambda: "zero", lambda: "one"]))
        assert [case(tf.constant(i)).numpy() for i in (0, 1)] == [b"zero", b"one"]

    def test_loops(self):
        @tf.function
        def f(word, count):
            made = tf.TensorArray(tf.string, size=0, dynamic_size=True)
            text = tf.constant("")
            for i in tf.range(count):
                text = text + word
                made = made.write(i, text + tf.as_string(i))
            while tf.strings.length(text) < 10:
                text += "."
            return text, made.stack()

        text, rows = f(tf.constant("ab"), tf.constant(3))
        assert text.numpy() == b"ababab...."
        assert rows.numpy().tolist() == [b"ab0", b"abab1", b"ababab2"]

    def test_over_rows(self):
        words = tf.constant(["a", "b\0", "c"])
        for run in (lambda f: f, tf.function):
            assert run(lambda x: tf.map_fn(lambda w: w + "!", x))(words).numpy().tolist() == [b"a!", b"b\0!", b"c!"]
            assert run(lambda x: tf.scan(lambda a, b: a + b, x))(words).numpy().tolist() == [b"a", b"ab\0", b"ab\0c"]
            assert run(lambda x: tf.foldl(lambda a, b: a + b, x))(words).numpy() == b"ab\0c"
            assert run(lambda x: tf.vectorized_map(lambda w: w + "!", x))(words).numpy().tolist() == [b"a!", b"b\0!", b"c!"]

    def test_how_many_parts_there_are_makes_it_eager_code(self):
        f = tf.function(lambda line: tf.strings.to_number(tf.strings.split(line, ",")) * 2.0)
        assert f(tf.constant("1,2,3")).numpy().tolist() == [2.0, 4.0, 6.0]
        assert f(tf.constant("4")).numpy().tolist() == [8.0]

    def test_errors_come_from_the_call(self):
        f = tf.function(lambda word: tf.strings.to_number(word) + 1.0)
        assert f(tf.constant("1")).numpy() == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: one"):
            f(tf.constant("one"))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 5 is not in \[0, 2\)"):
            tf.function(tf.gather)(tf.constant(["a", "b"]), tf.constant([5]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x == y did not hold"):
            tf.function(tf.debugging.assert_equal)(tf.constant("a"), tf.constant("b"))
        with pytest.raises(TypeError, match="Value for attr 'T' of string is not in the list"):
            tf.function(lambda x: tf.sin(x))(tf.constant("a"))

    def test_variables(self):
        v = tf.Variable("a")

        @tf.function
        def f(x):
            v.assign(v + x)
            return v.read_value() + "!"

        assert (f(tf.constant("b")).numpy(), f(tf.constant("c")).numpy(), v.numpy()) == (b"ab!", b"abc!", b"abc")

    def test_signatures(self):
        f = tf.function(lambda x: x + "!", input_signature=[tf.TensorSpec([None], tf.string)])
        assert f(tf.constant(["a", "b"])).numpy().tolist() == [b"a!", b"b!"]
        assert f.get_concrete_function().structured_outputs.dtype == tf.string

    def test_python_in_the_middle(self):
        @tf.function
        def f(x):
            return tf.py_function(lambda w: w.numpy()[::-1], [x], tf.TensorSpec([], tf.string)) + "!"

        assert f(tf.constant("abc")).numpy() == b"cba!"

    def test_printed(self, capfd):
        @tf.function
        def f(x):
            tf.print(x)
            tf.print("x:", x, [x])

        f(tf.constant("a"))
        f(tf.constant("b"))
        assert capfd.readouterr().err == 'a\nx: "a" ["a"]\nb\nx: "b" ["b"]\n'


class TestGradients:
    def test_pass_by_strings(self):
        w = tf.Variable(3.0)

        def loss(word):
            return tf.where(tf.equal(word, "square"), w * w, w) * tf.cast(tf.strings.length(word), tf.float32)

        for run in (loss, tf.function(loss)):
            found = []
            for word in ("square", "ab"):
                with tf.GradientTape() as tape:
                    y = run(tf.constant(word))
                found.append(tape.gradient(y, w).numpy())
            assert found == [36.0, 2.0]

    def test_through_a_loop_that_compares_strings(self):
        @tf.function
        def f(w, word):
            with tf.GradientTape() as tape:
                tape.watch(w)
                y = w
                for _ in tf.range(3):
                    y = y * w if tf.equal(word, "times") else y + w
            return tape.gradient(y, w)

        assert [f(tf.constant(2.0), tf.constant(word)).numpy() for word in ("times", "plus")] == [32.0, 4.0]

    @pytest.mark.filterwarnings("ignore:The gradient is None")
    @pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
    def test_end_where_a_number_becomes_text(self, run):
        w = tf.Variable(3.0)
        f = run(lambda: tf.strings.to_number(tf.as_string(w * w)) * 2.0)
        with tf.GradientTape() as tape:
            y = f()
        assert y.numpy() == 18.0
        assert tape.gradient(y, w) is None
        found = tf.autodiff.explain(y, w)
        assert (found.code, found.op) == ("not_differentiable", "AsString")
        assert "a string is no number" in found.cause

    def test_beside_strings(self):
        @tf.custom_gradient
        def f(x):
            return (x * 2.0, tf.as_string(x)), lambda dy, _: dy * 7.0

        w = tf.Variable(3.0)
        with tf.GradientTape(persistent=True) as tape:
            y, text = f(w)
            z, _ = tf.identity_n([w * w, text])
        assert (text.numpy(), tape.gradient(y, w).numpy(), tape.gradient(z, w).numpy()) == (b"3.000000", 7.0, 6.0)


class TestElsewhere:
    def test_datasets(self):
        lines = tf.data.Dataset.from_tensor_slices(["1,2", "3,4"])
        rows = lines.map(lambda line: tf.strings.to_number(tf.strings.split(line, ",")))
        assert rows.element_spec == tf.TensorSpec([None], tf.float32)
        assert [row.tolist() for row in rows.batch(2).as_numpy_iterator()] == [[[1.0, 2.0], [3.0, 4.0]]]
        kept = lines.filter(lambda line: tf.strings.regex_full_match(line, "3.*")).map(tf.strings.upper)
        assert list(kept.as_numpy_iterator()) == [b"3,4"]

    def test_graphs(self):
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            words, word = v1.placeholder(tf.string, [None]), v1.placeholder(tf.string)
            v = v1.get_variable("v", initializer=tf.constant(["a", "b"]))
            session.run(v1.global_variables_initializer())
            fetches = [
                words + word, tf.strings.length(words) * 2, tf.equal(words, "x"), tf.strings.split(words[0]),
                tf.constant("a") + "b", v1.assign(v, v + words), tf.strings.format("<{}>", word),
            ]  # fmt: skip
            found = session.run(fetches, {words: ["x", "y z"], word: "!"})
            assert [plain(x) for x in found] == [
                [b"x!", b"y z!"], [2, 6], [True, False], [b"x"], b"ab", [b"ax", b"by z"], b'<"!">',
            ]  # fmt: skip
            assert session.run(v).tolist() == [b"ax", b"by z"]

    def test_run_eagerly(self):
        tf.config.run_eagerly(True)
        try:
            assert (tf.constant("a") + "b").numpy() == b"ab"
            assert (tf.strings.length("abc") * 2).numpy() == 6
        finally:
            tf.config.run_eagerly(False)

    def test_a_program_is_told_from_one_with_other_constants(self):
        def made(word):
            return tf.function(lambda x: x + word).get_concrete_function(tf.TensorSpec([], tf.string)).program

        one, other = made("a"), made("b")
        assert one is not other and one.hosted
        assert [execution.execute(p, [np.array(b"x", object)])[0][()] for p in (one, other)] == [b"xa", b"xb"]
        assert not any(op.programs(attrs) for op, attrs, *_ in one.keys)


class TestPatterns:
    """What Python's patterns write otherwise than RE2's."""

    @pytest.mark.parametrize(
        ("pattern", "text", "expected"),
        [
            (r"[[:alpha:]]+", "ab1", "x1"),
            (r"[^[:space:]]", "a b", "x x"),
            (r"\d", "1٣", "x٣"),
            (r"\bé", "é", "é"),
            (r"[]a]", "]a", "xx"),
            (r"[a&&b]", "a&b", "xxx"),
            (r"a$", "a\n", "a\n"),
            (r"(?m)a$", "a\n", "x\n"),
            (r"\p{Lu}", "aBÉ", "axx"),
            (r"\PL", "a1", "ax"),
            (r"(?<n>a)", "a", "x"),
            (r"[\s\S]", "a b\n", "xxxx"),
            (r"[^\D]", "a1", "ax"),
            (r"[^\S\n]", "a \n", "ax\n"),
            (r"[[:^alpha:]]", "a1-", "axx"),
            (r"a(?i)b|c", "aB C AB", "x x AB"),
            (r"(a(?i)b)c", "aBc aBC", "x aBC"),
            ("a{,2}", "aa a{,2}", "aa x"),
            ("a||b", "abc", "xbxcx"),
        ],
    )
    def test_means_the_same(self, pattern, text, expected):
        assert tf.strings.regex_replace(text, pattern, "x").numpy().decode() == expected

    @pytest.mark.parametrize(
        "pattern",
        ["a(?!b)", "(?<=a)b", r"(a)\1", "[[:nonsense:]]", "[a", "a\\", r"\p{Greek}", "[[:^x:]]", "(?i)a)", "(?x) a", "a{1001}"],
    )
    def test_refused(self, pattern):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"^Invalid pattern: {re.escape(pattern)}, error: "):
            tf.strings.regex_replace("a", pattern, "x")

    def test_bytes_that_are_no_text_go_through(self):
        assert tf.strings.regex_replace(b"\xffa", "a", "b").numpy() == b"\xffb"


def test_strings_at_one_point_are_joined():
    words = tf.constant(["a", "b", "c", "d"])
    assert tf.scatter_nd([[4], [3], [3], [5]], words, [6]).numpy().tolist() == [b"", b"", b"", b"bc", b"a", b"d"]
    rows = tf.scatter_nd([[0], [0]], tf.reshape(words, [2, 2]), [2, 2])
    assert rows.numpy().tolist() == [[b"ac", b"bd"], [b"", b""]]
    assert tf.tensor_scatter_nd_update(words, [[1], [1]], ["x", "y"]).numpy().tolist() == [b"a", b"y", b"c", b"d"]


def test_no_strings_have_no_parts():
    none = tf.constant([], tf.string)
    code_points, starts = tf.strings.unicode_decode_with_offsets(none, "UTF-8")
    assert (code_points.dtype, starts.dtype) == (tf.int32, tf.int64)
    for rows in (
        code_points,
        starts,
        tf.strings.unicode_split(none, "UTF-8"),
        tf.strings.split(none),
        tf.strings.bytes_split(none),
    ):
        assert rows.to_list() == []

"""A value that an op cannot take is named with op, line and value wherever a function has it, and nothing is changed then."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.core.engine import execution

X = [float(i) for i in range(10)]
Invalid = tf.errors.InvalidArgumentError


def picked(i):
    return tf.gather(tf.constant(X), i)


LINE = picked.__code__.co_firstlineno + 1


def in_a_branch(i):
    return tf.cond(i > 0, lambda: picked(i), lambda: 0.0)


def in_a_case(i):
    return tf.switch_case(tf.minimum(i, 1), [lambda: 0.0, lambda: picked(i)])


def in_a_for(i):
    total = 0.0
    for k in tf.range(3):
        total += picked(i - k)
    return total


def in_a_while(i):
    k, total = 0, 0.0
    while k < 3:
        total += picked(i - k)
        k += 1
    return total


def in_a_condition(i):
    while picked(i) > 20.0:  # an index that stays at the end of a table need not come to an end
        i += 1
    return tf.cast(i, tf.float32)


def in_a_scan(i):
    return tf.scan(lambda total, k: total + picked(k), tf.stack([0, i]), initializer=0.0)


def in_a_map(i):
    return tf.map_fn(picked, tf.stack([0, i]), fn_output_signature=tf.float32)


def in_a_vectorized_map(i):
    return tf.vectorized_map(picked, tf.stack([0, i]))


def in_a_branch_of_a_loop(i):
    total = 0.0
    for k in tf.range(3):
        if k > 1:
            total += picked(i)
    return total


@tf.function
def called(i):
    return picked(i)


def in_a_call(i):
    return called(i) + tf.cond(i > 0, lambda: called(i), lambda: 0.0)


INSIDE = [
    in_a_branch,
    in_a_case,
    in_a_for,
    in_a_while,
    in_a_condition,
    in_a_scan,
    in_a_map,
    in_a_vectorized_map,
    in_a_branch_of_a_loop,
    in_a_call,
]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("body", INSIDE)
def test_inside_of_branches_and_loops(body, early):
    steps = tf.Variable(0)

    @tf.function
    def function(i):
        steps.assign_add(1)
        return body(i)

    tf.config.compile_early(early)
    try:
        function(tf.constant(2))
        with pytest.raises(Invalid, match=rf"= 12 is not in \[0, 10\) \[Op:GatherV2\](?s:.*)test_checks.py:{LINE}, in picked"):
            function(tf.constant(12))
        assert steps.numpy() == 1
    finally:
        tf.config.compile_early(False)


@pytest.mark.parametrize("body", [in_a_scan, in_a_map, in_a_vectorized_map])
def test_in_eager_code_the_call_raises_and_leaves_alone_what_came_before(body):
    steps = tf.Variable(0)
    with tf.GradientTape():
        steps.assign_add(1)
        with pytest.raises(Invalid, match="= 12 is not in"):
            body(tf.constant(12))
    assert steps.numpy() == 1


CHECKS = {
    "an index": (lambda i: tf.constant(X)[i], "slice index 12 of dimension 0 out of bounds. [Op:StridedSlice]"),
    "a beginning": (lambda i: tf.slice(X, [i], [2]), "Expected begin[0] in [0, 10], but got 12 [Op:Slice]"),
    "points": (lambda i: tf.gather_nd(X, [[0], [i]]), "indices[1] = [12] does not index into param shape [10]"),
    "places": (lambda i: tf.scatter_nd([[i]], [1.0], [10]), "indices[0] = [12] does not index into shape [10]"),
    "labels": (
        lambda i: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[i], logits=[X]),
        "Received a label value of 12 which is outside the valid range of [0, 10)",
    ),
    "ids": (lambda i: tf.math.unsorted_segment_sum(X, [i] * 10, 10), "segment_ids[0] = 12 is out of range [0, 10)"),
    "a divisor": (lambda i: 5 // (12 - i), "Integer division by zero [Op:FloorDiv]"),
    "a power": (lambda i: tf.constant(2) ** (11 - i), "Integers to negative integer powers are not allowed [Op:Pow]"),
    "a matrix": (lambda i: tf.linalg.inv([[1.0, 2.0], [tf.cast(i, tf.float32), 24.0]]), "Input is not invertible."),
    "a permutation": (lambda i: tf.math.invert_permutation([0, i]), "12 is not between 0 and 2"),
    "an entry": (
        lambda i: tf.TensorArray(tf.float32, 3).write(i, 1.0).stack(),
        "Trying to modify element 12 in a list with 3 elements.",
    ),
    "counts": (lambda i: tf.math.bincount([11 - i], minlength=4, maxlength=4, dtype=tf.int32), "Input arr must be non-negative!"),
    "bounds": (lambda i: tf.random.stateless_uniform([2], [1, 2], i, 12, tf.int32), "Need minval < maxval, got 12 >= 12"),
    "numbers": (lambda i: tf.debugging.check_numerics(1.0 / tf.cast(12 - i, tf.float32), "m"), "m : Tensor had Inf values"),
    "an assert": (lambda i: tf.debugging.assert_less(i, 12, message="m"), "m\nCondition x < y did not hold."),
    "a text": (lambda i: tf.debugging.Assert(i < 12, ["i was", i]), "Summarized data: b'i was'\n12"),
}


@pytest.mark.parametrize("which", CHECKS)
def test_each_check_is_made_in_a_branch_that_is_compiled(which, compiled_early):
    check, message = CHECKS[which]

    @tf.function
    def taken(i):
        return tf.cond(i > 0, lambda: _first(check(i)), lambda: 0.0)

    with pytest.raises(Invalid) as caught:
        taken(tf.constant(12))
    assert message in str(caught.value)


def _first(value):
    return 0.0 if value is None else tf.cast(tf.reshape(value, [-1])[0], tf.float32)


def test_what_a_gradient_runs_again_is_not_checked_again():
    for body in (in_a_branch, in_a_for, in_a_while):
        program = tf.function(lambda x, i, body=body: x * body(i)).get_concrete_function(1.0, tf.TensorSpec([], tf.int32)).program
        assert program.guarded
        assert not vjp_program(program, (0,), (0,))[0].guarded


@pytest.fixture
def runs(monkeypatch):
    """The programs that ran, by their sizes."""
    sizes = []
    run = execution.execute

    def counted(program, *rest):
        sizes.append(program.size)
        return run(program, *rest)

    monkeypatch.setattr(execution, "execute", counted)
    return sizes


COLUMNS = np.arange(40, dtype=np.int32).reshape(2, 20) % 7


def test_a_step_with_twenty_embeddings_is_one_program(runs):
    tables = [tf.Variable(np.full((7, 2), float(k), np.float32)) for k in range(20)]

    def step(batch):
        with tf.GradientTape() as tape:
            rows = [
                tf.nn.embedding_lookup(table, column) for table, column in zip(tables, tf.unstack(batch, axis=1), strict=True)
            ]
            loss = tf.reduce_sum(tf.stack(rows))
        grads = tape.gradient(loss, tables)
        for table, grad in zip(tables, grads, strict=True):
            table.scatter_sub(grad)
        return loss

    trained = tf.function(step)
    for function in (step, trained):
        function(tf.constant(COLUMNS))
        tables[0].numpy()
        for _ in range(2):
            runs.clear()
            function(tf.constant(COLUMNS)).numpy()
            assert len(runs) == 1

    wrong = COLUMNS.copy()
    wrong[1, 2] = 7
    before = [table.numpy() for table in tables]
    with pytest.raises(Invalid, match=r"indices\[1\] = 7 is not in \[0, 7\)"):
        step(tf.constant(wrong))
    with pytest.raises(Invalid, match=r"indices\[1\] = 7 is not in \[0, 7\)(?s:.*)Detected at .*, in "):
        trained(tf.constant(wrong))
    for table, value in zip(tables, before, strict=True):
        np.testing.assert_array_equal(table.numpy(), value)


def test_a_call_under_a_tape_raises_where_it_is_made_and_changes_nothing():
    calls = tf.Variable(1.0)

    @tf.function
    def counted(x, i):
        calls.assign_add(1.0)
        return picked(i) * x

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for wrong in (tf.constant(12), tf.cast(tf.exp(x) * 2.0, tf.int32)):  # known on the host, and computed
            with pytest.raises(Invalid, match=r"= 1[24] is not in \[0, 10\)"):
                counted(x, wrong)
        y = counted(x, tf.constant(3)) + counted(x, tf.cast(tf.exp(x), tf.int32))
    assert calls.numpy() == 3.0
    assert tape.gradient(y, x).numpy() == 10.0


def test_a_saved_model_checks_in_its_loops(tmp_path):
    module = tf.Module()
    module.function = tf.function(in_a_for, input_signature=[tf.TensorSpec([], tf.int32)])
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.function(tf.constant(2)).numpy() == 3.0
    with pytest.raises(Invalid, match=r"= 10 is not in \[0, 10\)"):
        loaded.function(tf.constant(10))


def test_a_session_checks_in_a_branch():
    graph = tf.compat.v1.Graph()
    with graph.as_default():
        i = tf.compat.v1.placeholder(tf.int32, [])
        y = in_a_branch(i)
        with tf.compat.v1.Session() as session:
            assert session.run(y, {i: 3}) == 3.0
            with pytest.raises(Invalid, match=r"= 12 is not in \[0, 10\)"):
                session.run(y, {i: 12})

"""What `explain` takes, gives, and says where it cannot know; nothing it needs keeps values alive."""

import dataclasses
import gc
import json
import logging
import re
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from docs.site import codes
from gradtape._src.core.base import hooks
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Node


def broken():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(w) * 3.0
    tape.gradient(loss, w)
    return loss, w


# What comes back


def test_a_diagnosis():
    diagnosis = tf.autodiff.explain(*broken())
    assert isinstance(diagnosis, tf.autodiff.Diagnosis)
    with pytest.raises(dataclasses.FrozenInstanceError, match="code"):
        diagnosis.code = "connected"
    fields = json.loads(json.dumps(diagnosis.to_dict()))
    assert set(fields) == {"code", "file", "line", "op", "cause", "mend", "also"}
    assert (fields["code"], fields["op"], fields["also"]) == ("stopped", "StopGradient", [])
    assert str(diagnosis).startswith(f"{__file__}:{diagnosis.line}: stopped: ")
    assert "fix: leave out `tf.stop_gradient`" in str(diagnosis)


def test_a_nest_of_sources_gives_the_same_nest():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = v * tf.stop_gradient(w)
    tape.gradient(loss, [v, w])
    found = tf.autodiff.explain(loss, {"first": v, "rest": (w, [v])})
    assert (found["first"].code, found["rest"][0].code, found["rest"][1][0].code) == ("connected", "stopped", "connected")


def test_several_breaks_on_one_way():
    w = tf.Variable(2.5)
    with tf.GradientTape() as tape:
        frozen = tf.stop_gradient(w)
        rounded = tf.round(frozen)
    loss = rounded * 2.0
    tape.gradient(loss, w)
    diagnosis = tf.autodiff.explain(loss, w)
    assert [d.code for d in (diagnosis, *diagnosis.also)] == ["stopped", "not_differentiable", "outside_tape"]
    assert [d.line - diagnosis.line for d in diagnosis.also] == [1, 2]


def test_names_are_the_users():
    class Model:
        def __init__(self):
            self.kernel = tf.Variable(2.0, trainable=False)

    model = Model()
    with tf.GradientTape() as the_tape:
        loss = model.kernel * 2.0
    the_tape.gradient(loss, model.kernel)
    diagnosis = tf.autodiff.explain(loss, model.kernel)
    assert "`the_tape.watch(model.kernel)`" in diagnosis.mend


def test_names_lead_through_objects_and_their_entries():
    class Head(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.body, self.head = tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)

    class Scales:
        def __init__(self):
            self.by_name, self.rest = {"first": tf.Variable(2.0)}, [tf.Variable(3.0)]

    model, scales = Head(), Scales()
    model.head.build([None, 2])
    sources = [model.head.kernel, scales.by_name["first"], scales.rest[0]]
    with tf.GradientTape() as tape:
        loss = tf.constant(1.0)
    tape.gradient(loss, sources)
    said = [d.cause for d in tf.autodiff.explain(loss, sources)]
    called = ["model.head.kernel", "scales.by_name['first']", "scales.rest[0]"]
    for name, cause in zip(called, said, strict=True):
        assert cause.startswith(f"loss does not depend on {name}")


def test_a_mend_is_written_with_what_the_line_computes_with():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        above = tf.cast(w * 2.0 > 0.5, tf.float32)
        loss = tf.reduce_sum(above)
    tape.gradient(loss, w)
    assert "tf.sigmoid((w * 2.0) - 0.5)" in tf.autodiff.explain(loss, w).mend
    with tf.GradientTape() as tape:
        best = tf.argmax(w, 0)
        loss = tf.cast(best, tf.float32)
    tape.gradient(loss, w)
    assert "tf.nn.softmax(w)" in tf.autodiff.explain(loss, w).mend
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(tf.sin(w)))
    tape.gradient(loss, w)
    assert "`x + tf.stop_gradient(tf.round(x) - x)`" in tf.autodiff.explain(loss, w).mend


def test_a_source_computed_beside_the_target():
    points = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(points)
        y = tf.reduce_sum(points**2)
        x = points[:, :1]
    tape.gradient(y, x)
    diagnosis = tf.autodiff.explain(y, x)
    assert re.match(r"y does not depend on x, which `x = points\[:, :1\]` \(line \d+\) computed beside it", diagnosis.cause)
    assert diagnosis.mend.startswith("compute x first, and y from it")


def test_two_models_of_which_one_is_indexed():
    image = tf.keras.Input([4])
    maps = tf.keras.layers.Dense(3)(image)
    model = tf.keras.Model(image, tf.keras.layers.Dense(2)(maps))
    inner = tf.keras.Model(image, maps)
    x = tf.ones([1, 4])
    with tf.GradientTape() as tape:
        features = inner(x)
        tape.watch(features)
        score = model(x)[:, 1]
    tape.gradient(score, features)
    assert "`features, output = both(x)`" in tf.autodiff.explain(score, features).mend


def test_an_object_that_was_replaced_is_named():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

    net = Net()
    sources = list(net.trainable_variables)
    net = Net()
    with tf.GradientTape() as tape:
        loss = net.w * 2.0
    tape.gradient(loss, sources)
    (diagnosis,) = tf.autodiff.explain(loss, sources)
    assert "which `net` holds" in diagnosis.cause
    assert diagnosis.mend.startswith("pass the variables of `net`")


def test_the_variable_that_is_not_finite_is_named():
    w = tf.Variable([1.0, np.nan])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(w**2)
    tape.gradient(loss, w)
    cause = tf.autodiff.explain_nan(loss, w).cause
    assert cause.startswith("the variable w is not finite since `w = tf.Variable([1.0, np.nan])`")


def test_an_optimizer_of_a_graph_has_reasons():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3])
        w = tf.compat.v1.get_variable("w", [3, 2])
        loss = tf.reduce_mean(tf.cast(tf.argmax(x @ w, 1), tf.float32))
        with pytest.raises(ValueError, match=r"No gradients provided[\s\S]*not_differentiable: tf.argmax in"):
            tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def test_a_tape_longer_than_what_is_remembered():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        x = tf.round(w)
        for _ in range(journal.ring.maxlen + 2):
            x = x * 1.5
            x.numpy()
    tape.gradient(x, w)
    assert tf.autodiff.explain(x, w).code == "unknown"


def test_the_latest_call_with_these_sources_counts():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        first = tf.stop_gradient(w) * 3.0
    tape.gradient(first, w)
    with tf.GradientTape() as tape:
        second = w * 3.0
    tape.gradient(second, w)
    assert tf.autodiff.explain(second, w).code == "connected"
    with tf.GradientTape() as tape:
        third = w * 4.0
    fourth = third * 2.0
    tape.gradient(fourth, w)
    assert tf.autodiff.explain(fourth, w).code == "outside_tape"


def test_the_tensors_in_between_may_be_gone():
    def step(w):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.exp(tf.round(w)) * 2.0)
        return loss, tape.gradient(loss, w)

    w = tf.Variable([1.0, 2.0])
    loss, _ = step(w)
    loss.numpy()
    gc.collect()
    assert tf.autodiff.explain(loss, w).code == "not_differentiable"


def test_what_is_forgotten_is_not_guessed():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(w) * 3.0
    tape.gradient(loss, w)
    loss.numpy()
    for _ in range(journal.ring.maxlen + 1):
        (tf.constant(1.0) + 1.0).numpy()
    assert tf.autodiff.explain(loss, w).code in ("unused", "unknown")


def test_every_code_is_in_the_documentation():
    assert codes.PAGE.read_text("utf-8") == codes.written(), "make snapshot"


# Bad input


def test_the_mend_has_the_users_name():
    weight = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        loss = tf.round(weight)
    tape.gradient(loss, weight)
    assert "`weight + tf.stop_gradient(tf.round(weight) - weight)`" in tf.autodiff.explain(loss, weight).mend


def test_a_statement_over_several_lines_is_quoted_whole():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tripled = w * 3.0
        loss = tf.reduce_sum(
            tf.stop_gradient(
                w * 3.0,
            ),
            axis=0,
        )
    tape.gradient(loss, w)
    assert "stop_gradient in `tf.stop_gradient(w * 3.0)` makes" in tf.autodiff.explain(loss, w).cause
    with tf.GradientTape() as tape:
        tripled = w * 3.0
    loss = tf.reduce_sum(
        tripled,
        axis=0,
    )
    tape.gradient(loss, w)
    assert tf.autodiff.explain(loss, w).mend == "move `loss = tf.reduce_sum(tripled, axis=0)` into the tape's `with` block."


def test_two_models_of_the_same_layers_are_to_be_one():
    given = tf.keras.Input([4])
    features = tf.keras.layers.Dense(3, "tanh")(given)
    model, inner = tf.keras.Model(given, tf.keras.layers.Dense(2)(features)), tf.keras.Model(given, features)
    x = tf.ones([1, 4])
    with tf.GradientTape() as tape:
        hidden = inner(x)
        tape.watch(hidden)
        scores = model(x)
    assert tape.gradient(scores, hidden) is None
    diagnosis = tf.autodiff.explain(scores, hidden)
    assert "`scores = model(x)` (" in diagnosis.cause and "computes the same value again" in diagnosis.cause
    words = r"make one model of the two, `(both = .*)`, and in the tape write `(hidden, scores = .*)`"
    mend = re.fullmatch(words, diagnosis.mend)
    namespace = {"tf": tf, "model": model, "inner": inner, "x": x}
    exec(mend[1], namespace)
    with tf.GradientTape() as tape:
        exec(mend[2], namespace)
    assert tape.gradient(namespace["scores"], namespace["hidden"]).shape == (1, 3)


def test_what_was_computed_twice():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        squared = x * x
        loss, other = tf.reduce_sum(x * x), tf.reduce_sum(x + x)
    assert tape.gradient(loss, squared) is None
    assert "compute loss from squared itself" in tf.autodiff.explain(loss, squared).mend
    assert tape.gradient(other, squared) is None
    assert "again" not in tf.autodiff.explain(other, squared).cause


def test_a_target_that_is_no_tensor():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = float(tf.reduce_sum(w))
    with pytest.raises(AttributeError, match=r"The target 3\.0 of type float is no tensor.*test_answers\.py:\d+: `loss = float"):
        tape.gradient(loss, w)
    assert tf.autodiff.explain(loss, w).code == "left_library"
    assert tf.autodiff.explain(1.5, tf.Variable(0.0)).code == "unused"


def test_numpys_default_axis_is_written_out():
    """`tf.concat` has none."""
    parts = [tf.Variable([1.0]), tf.Variable([2.0])]
    with tf.GradientTape() as tape:
        joined = np.concatenate(parts)
        loss = tf.reduce_sum(joined * joined)
    assert tape.gradient(loss, parts) == [None, None]
    assert tf.autodiff.explain(loss, parts[0]).mend.endswith("`joined = tf.concat(parts, 0)`")


@pytest.mark.parametrize("source", [1.0, np.ones(3), None, "w"])
def test_a_source_that_is_no_tensor(source):
    loss, _ = broken()
    with pytest.raises(TypeError, match="is no tensor or variable, so nothing was recorded of it"):
        tf.autodiff.explain(loss, source)


def test_no_tape_at_all():
    x = tf.constant(2.0)
    assert tf.autodiff.explain(x * 2.0, x).code in ("not_watched", "outside_tape")


def test_a_source_of_a_tape_that_is_gone():
    def step():
        w = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            loss = tf.stop_gradient(w) * 3.0
        tape.gradient(loss, w)
        return loss, w

    loss, w = step()
    gc.collect()
    assert tf.autodiff.explain(loss, w).code == "stopped"


CELL = """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    part = w * w
loss = part * 3.0
tape.gradient(loss, w)
diagnosis = tf.autodiff.explain(loss, w)
"""


@pytest.mark.parametrize("name", ["<ipython-input-7-abc>", "<string>", "cell 3"])
def test_code_without_a_file(name):
    names = {"tf": tf}
    exec(compile(CELL, name, "exec"), names)
    diagnosis = names["diagnosis"]
    assert (diagnosis.code, diagnosis.file, diagnosis.line, diagnosis.op) == ("outside_tape", name, 5, "Mul")
    assert "the op Mul" in diagnosis.cause


def test_a_rebinding_in_code_without_a_file():
    names = {"tf": tf}
    text = (
        "x = tf.Variable(2.0)\nx = x + 1.0\nwith tf.GradientTape() as tape:\n    y = x * x\nd = tf.autodiff.explain(y, x, tape)"
    )
    exec(compile(text, "<cell>", "exec"), names)
    assert (names["d"].code, names["d"].line) == ("rebound", 2)


def test_explain_nan_needs_a_record():
    w = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        loss = tf.sqrt(w)
    tape.gradient(loss, w)
    with pytest.raises(RuntimeError, match=r"persistent=True.*keep_last_step"):
        tf.autodiff.explain_nan(loss, w)
    assert "keep_last_step(True)" in tf.autodiff.explain(loss, w).mend


def test_no_sources():
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.sqrt(tf.Variable(0.0))
    assert tf.autodiff.explain_nan(loss, [], tape) == tf.autodiff.explain(loss, [], tape) == []


def test_two_threads_have_answers_of_their_own():
    found = {}

    def work(name, op):
        w = tf.Variable(2.5)
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = op(w) * 3.0
            tape.gradient(loss, w)
            found.setdefault(name, set()).add(tf.autodiff.explain(loss, w).code)

    threads = [threading.Thread(target=work, args=a) for a in (("stop", tf.stop_gradient), ("round", tf.round), ("exp", tf.exp))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"stop": {"stopped"}, "round": {"not_differentiable"}, "exp": {"connected"}}


def test_each_way_that_is_cut_is_told():
    w = tf.Variable([1.3, 2.2])
    with tf.GradientTape() as tape:
        held = tf.stop_gradient(w * 2.0)
        steps = tf.round(w)
        loss = tf.reduce_sum(held * steps)
    assert tape.gradient(loss, w) is None
    diagnosis = tf.autodiff.explain(loss, w)
    assert (diagnosis.code, [d.code for d in diagnosis.also]) == ("not_differentiable", ["stopped"])
    assert diagnosis.also[0].cause.startswith("another way is cut, too: tf.stop_gradient in `held = ")
    assert diagnosis.also[0].label == "fix"


# What is said without being asked


def test_nothing_but_none_is_said_once_for_each_line(caplog):
    w, v = tf.Variable(2.0), tf.Variable(3.0)
    with caplog.at_level(logging.WARNING, "gradtape"):
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.stop_gradient(w) * 3.0
            tape.gradient(loss, w)
        said = [r.getMessage() for r in caplog.records]
        with tf.GradientTape() as tape:
            loss = v * 3.0
        tape.gradient(loss, [v, w])
        with tf.GradientTape() as tape:
            loss = tf.stop_gradient(w) * 3.0
        tape.gradient(loss, w, unconnected_gradients="zero")
    assert len(said) == 1 and len(caplog.records) == 1
    assert said[0].startswith(f"The gradient is None. {__file__}:") and ": stopped: " in said[0] and "\n" not in said[0]


def test_it_is_said_in_a_function_too(caplog):
    x = tf.Variable(2.0)

    @tf.function
    def step(scale):
        with tf.GradientTape() as tape:
            y = tf.round(x * scale)
        return tape.gradient(y, x)

    assert step(tf.constant(2.0)) is None
    assert "The gradient is None. " in caplog.text and "not_differentiable: tf.round in `y = tf.round(x * scale)`" in caplog.text


def test_a_jacobian_says_it_too(caplog):
    w = tf.Variable([1.5, 2.5])
    with tf.GradientTape() as tape:
        y = tf.round(w)
    assert tape.jacobian(y, w) is None
    assert ": not_differentiable: " in caplog.text


def test_a_strict_tape_raises_at_the_break():
    w = tf.Variable(2.0)

    def rounded(x):
        return tf.round(x)

    with tf.GradientTape(strict=True) as tape:
        loss = rounded(w) * 2.0
    with pytest.raises(ValueError, match=r"not_differentiable: tf.round in `return tf\.round") as caught:
        tape.gradient(loss, w)
    assert caught.traceback[-1].lineno + 1 == rounded.__code__.co_firstlineno + 1
    with tf.GradientTape(strict=True) as tape:
        loss = rounded(w) * 2.0
    assert tape.gradient(loss, w, unconnected_gradients="zero").numpy() == 0.0


def test_an_optimizers_error_has_the_reasons():
    w, v = tf.Variable(2.0), tf.Variable(3.0)  # known by their names in the code
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(w) * 3.0
    gradients = tape.gradient(loss, [w, v])
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients provided for any variable") as caught:
        optimizer.apply_gradients(zip(gradients, [w, v], strict=True))
    _, *reasons = str(caught.value).splitlines()
    assert [r.split(":")[0].strip() for r in reasons] == ["w", "v"]
    assert ": stopped: " in reasons[0] and ": unused: " in reasons[1]


def test_what_is_at_fault_comes_first(caplog):
    names = [f"v{i}" for i in range(8)]
    *variables, w = [tf.Variable(2.0, name=name) for name in [*names, "w"]]
    with tf.GradientTape() as tape:
        loss = tf.stop_gradient(w) * 3.0
    gradients = tape.gradient(loss, [*variables[:4], w, *variables[4:]])
    assert ": stopped: " in caplog.text
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients provided for any variable") as caught:
        optimizer.apply_gradients(zip(gradients, [*variables[:4], w, *variables[4:]], strict=True))
    _, fault, rest = str(caught.value).splitlines()
    assert fault.startswith("  w:") and ": stopped: " in fault
    assert rest.startswith("  variables[0], ") and "and 2 more" in rest and ": unused: " in rest


def test_keras_says_the_reasons():
    layer = tf.keras.layers.Dense(2, name="dense")
    x = tf.constant([[1.0, 2.0]])
    layer(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(layer(x)))
    gradients = tape.gradient(loss, layer.trainable_variables)
    assert [d.code for d in tf.autodiff.explain(loss, layer.trainable_variables)] == ["not_differentiable"] * 2
    with pytest.raises(ValueError, match=r"No gradients provided for any variable\.") as caught:
        tf.keras.optimizers.SGD().apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
    _, reason = str(caught.value).splitlines()  # one cause is told once
    assert reason.startswith("  layer.kernel, layer.bias: ") and ": not_differentiable: tf.round" in reason


def test_a_graph():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = tf.stop_gradient(x) * 2.0
        assert tf.gradients(y, x) == [None]
        diagnosis = tf.autodiff.explain(y, x)
    assert (diagnosis.code, diagnosis.also) == ("stopped", ())


# What is kept


def test_the_journal_holds_no_values():
    big = tf.constant(np.ones(1000, np.float32))
    w = tf.Variable(np.ones(1000, np.float32))
    with tf.GradientTape() as tape:
        hidden = tf.exp(w * big)
        loss = tf.reduce_sum(hidden)
    gradient = tape.gradient(loss, w)
    gradient.numpy()
    gone = [weakref.ref(x) for x in (big, w, hidden, loss, gradient, tape)]
    nodes = [x.node for x in (big, hidden, gradient)]
    arrays = [weakref.ref(n.value) for n in nodes if n.value is not None and not isinstance(n.value, np.ndarray)]
    del big, w, hidden, loss, gradient, tape, nodes
    gc.collect()
    assert [r() for r in (*gone, *arrays)] == [None] * (len(gone) + len(arrays))


def kept():
    """How much the journal holds: its nodes (there must be none), and how many records there are."""
    held = [journal.ring, journal.exits, journal.links, journal.tapes, journal.calls, journal.births]
    seen, stack = set(), list(held)
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        assert not isinstance(item, (Node, np.ndarray, tf.Tensor, tf.Variable))
        if isinstance(item, (list, tuple, dict)) or type(item).__module__ == journal.__name__ or hasattr(item, "maxlen"):
            stack += gc.get_referents(item)
    return len(seen)


def train(steps):
    w = tf.Variable([1.0, 2.0])
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        if step % 2 == 0:
            loss.numpy()
    return w


def check_memory(steps):
    train(1500)  # every queue of the journal is full
    gc.collect()
    before, objects = kept(), len(gc.get_objects())
    train(steps)
    gc.collect()
    assert kept() <= before * 1.1
    assert len(gc.get_objects()) - objects < 2000


def test_what_is_kept_is_bounded():
    check_memory(1000)


@pytest.mark.long
def test_what_is_kept_is_bounded_after_100_000_steps():
    check_memory(100_000)


def test_of_two_calls_that_may_be_meant_none_is_blamed():
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

        def __call__(self, x):
            return x * self.w

    first, second = Scale(), Scale()
    hidden = first(tf.constant(1.0))
    outputs = second(hidden)
    with tf.GradientTape() as tape:
        loss = hidden * outputs
    tape.gradient(loss, first.w)
    diagnosis = tf.autodiff.explain(loss, first.w)
    assert diagnosis.cause.startswith("`return x * self.w` ran before the tape opened")
    assert diagnosis.mend == "call `Scale.__call__` in the tape's `with` block."


def scaled(x, zero):
    try:
        return x * float(1 / zero)
    except ZeroDivisionError:
        return tf.ones(())


def test_the_line_of_an_except_in_another_function():
    x, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = scaled(x, 0) * w
    assert tape.gradient(y, x) is None
    diagnosis = tf.autodiff.explain(y, x)
    assert (diagnosis.code, diagnosis.line) == ("branch_not_taken", scaled.__code__.co_firstlineno + 3)


def test_a_gradient_that_is_none_is_never_called_connected():
    """Whatever loses it: the library is at fault then."""
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is not None
    with pytest.raises(ValueError, match=r"The gradient is None\. unknown: .*\n.* this is a fault of gradtape: please report it"):
        hooks.gradients.missing(journal.calls[-1], [x], [False], strict=True)


def test_an_error_about_a_number_says_where_the_value_left():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match=r"its derivative is not known.* did so at .*test_answers.py:\d+"):
        tf.autodiff.hvp(lambda x: float(tf.reduce_sum(x)), x, x)

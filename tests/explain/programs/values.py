"""Values through which no gradient passes."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf


def numpy_in_the_tape():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        squared = x**2
        mean = np.mean(squared, axis=0)  # <- left_library
        y = tf.reduce_sum(mean)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def numpy_gave_the_target():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = np.sum(x**2)  # <- left_library
    try:
        dx = tape.gradient(y, x)
    except AttributeError:
        dx = None
    return dx, tf.autodiff.explain(y, x)


def the_numpy_method():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        squared = (x**2).numpy()  # <- left_library
        y = tf.reduce_sum(tf.constant(squared))
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_python_float():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        scale = float(x * x)  # <- left_library
        y = tf.constant(3.0) * scale
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_array_of_the_same_name():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        squared = x**2
        squared = np.array(squared)  # <- left_library
        y = tf.reduce_sum(squared)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def the_item_of_an_array():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        top = tf.reduce_max(x).numpy().item()  # <- left_library
        y = tf.ones([2]) * top
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_list_of_floats():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        parts = [float(part) for part in x**2]  # <- left_library
        y = tf.reduce_sum(tf.constant(parts))
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_loss_that_was_logged():
    w = tf.Variable(2.0)
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        regularizer = w * w
        regularizer.numpy()
        loss = v * 2.0  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_numpy_function():
    x = tf.Variable([1.0, 4.0])
    with tf.GradientTape() as tape:
        roots = tf.numpy_function(np.sqrt, [x], tf.float32)  # <- left_library
        y = tf.reduce_sum(roots)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def through_jax():
    x = tf.Variable([1.0, 4.0])
    with tf.GradientTape() as tape:
        y = jnp.sqrt(jnp.asarray(x * 2.0))  # <- left_library
        z = tf.reduce_sum(tf.convert_to_tensor(y))
    return tape.gradient(z, x), tf.autodiff.explain(z, x)


def a_detour_through_integers():
    x = tf.constant([1.5, 2.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        whole = tf.cast(x, tf.int32)  # <- not_floating
        y = tf.cast(whole, tf.float32) * 2.0
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_threshold():
    x = tf.Variable([1.5, -2.5])
    with tf.GradientTape() as tape:
        mask = x > 0.0  # <- not_differentiable
        y = tf.reduce_sum(tf.cast(mask, tf.float32))
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def the_best_class():
    logits = tf.Variable([1.0, 3.0, 2.0])
    with tf.GradientTape() as tape:
        best = tf.argmax(logits)  # <- not_differentiable
        y = tf.cast(best, tf.float32) * 2.0
    return tape.gradient(y, logits), tf.autodiff.explain(y, logits)


def rounding():
    x = tf.Variable([1.5, 2.5])
    with tf.GradientTape() as tape:
        rounded = tf.round(x)  # <- not_differentiable
        y = tf.reduce_sum(rounded)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def whole_steps():
    x = tf.Variable(7.5)
    with tf.GradientTape() as tape:
        steps = x // 2.0  # <- not_differentiable
        y = steps * 3.0
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def the_shape_instead_of_the_value():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.ones_like(x) * 2.0  # <- unused
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_accuracy_as_loss():
    w = tf.Variable([[1.0, -1.0], [0.5, 2.0]])
    with tf.GradientTape() as tape:
        logits = tf.constant([[1.0, 2.0]]) @ w
        right = tf.equal(tf.argmax(logits, axis=1), [0])  # <- not_differentiable
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    return tape.gradient(accuracy, w), tf.autodiff.explain(accuracy, w)


def a_stopped_gradient():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        target = tf.stop_gradient(w * w)  # <- stopped
        loss = target * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def stopped_in_a_lambda():
    w = tf.Variable(2.0)
    frozen = lambda v: tf.stop_gradient(v)  # noqa: E731  # <- stopped
    with tf.GradientTape() as tape:
        loss = frozen(w) * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def stopped_twice():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        first = tf.stop_gradient(w * w)  # <- stopped
        second = tf.round(first)
        loss = second * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def state():
    x0 = tf.Variable(3.0)
    x1 = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        x1.assign_add(x0)  # <- state
        y = x1**2
    return tape.gradient(y, x0), tf.autodiff.explain(y, x0)


def an_assignment_before_the_tape():
    w, held = tf.Variable(2.0), tf.Variable(0.0)
    held.assign(w * 3.0)  # <- state
    with tf.GradientTape() as tape:
        loss = held * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_variable_made_of_a_value():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        held = tf.Variable(w * 2.0)  # <- state
        y = held * 3.0
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def filled_element_by_element():
    w = tf.Variable([1.0, 2.0])
    filled = tf.Variable(tf.zeros([2]))
    with tf.GradientTape() as tape:
        for i in range(2):
            filled[i].assign(w[i] * 3.0)  # <- state
        y = tf.reduce_sum(filled)
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def scattered_into_a_variable():
    w = tf.Variable([1.0, 2.0])
    table = tf.Variable(tf.zeros([3]))
    with tf.GradientTape() as tape:
        table.scatter_nd_update([[0], [2]], w * 2.0)  # <- state
        y = tf.reduce_sum(table)
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def a_custom_gradient_that_gives_none():
    @tf.custom_gradient
    def double(x):
        return x * 2.0, lambda dy: None

    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = double(w) * 3.0  # <- not_differentiable
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def no_gradient_registered():
    x = tf.Variable([1.0, 2.0, 1.0])
    with tf.GradientTape() as tape:
        values, _ = tf.unique(x)  # <- no_gradient_registered
        y = tf.reduce_sum(values)
    try:
        return tape.gradient(y, x), tf.autodiff.explain(y, x)
    except LookupError:
        return None, tf.autodiff.explain(y, x)


def the_other_branch():
    x = tf.constant(1.0)
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        if x > 0.0:  # <- branch_not_taken
            result = v0
        else:
            result = v1**2
    return tape.gradient(result, [v0, v1]), tf.autodiff.explain(result, [v0, v1])


def the_other_side_of_a_conditional_expression():
    x = tf.constant(-1.0)
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        result = v0 * 1.0 if x > 0.0 else v1**2  # <- branch_not_taken
    return tape.gradient(result, [v0, v1]), tf.autodiff.explain(result, [v0, v1])


def the_other_side_of_cond():
    x = tf.constant(-1.0)
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        result = tf.cond(x > 0.0, lambda: v0 * 1.0, lambda: v1**2)  # <- branch_not_taken
    return tape.gradient(result, [v0, v1]), tf.autodiff.explain(result, [v0, v1])


def a_layer_that_was_skipped():
    class Model:
        def __init__(self):
            self.first = tf.Variable(2.0)
            self.extra = tf.Variable(3.0)

        def __call__(self, x, deep):
            x = x * self.first
            if deep:  # <- branch_not_taken
                x = x * self.extra
            return x

    model = Model()
    with tf.GradientTape() as tape:
        loss = model(tf.constant(1.0), deep=False)
    return tape.gradient(loss, model.extra), tf.autodiff.explain(loss, model.extra)


def another_case():
    v0, v1 = tf.Variable(2.0), tf.Variable(2.0)

    def first():
        return v0 * 1.0

    def second():
        return v1**2

    with tf.GradientTape() as tape:
        result = tf.switch_case(tf.constant(1), [first, second])  # <- branch_not_taken
    return tape.gradient(result, [v0, v1]), tf.autodiff.explain(result, [v0, v1])


def the_order_instead_of_the_values():
    x = tf.Variable([2.0, 1.0])
    with tf.GradientTape() as tape:
        places = tf.argsort(x)  # <- not_floating
        y = tf.reduce_sum(tf.cast(places, tf.float32))
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def through_a_dataset():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        data = tf.data.Dataset.from_tensor_slices(w * tf.constant([1.0, 2.0]))  # <- left_library
        loss = tf.add_n(list(data))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_variable_in_the_function_of_a_dataset():
    w = tf.Variable(2.0)
    scaled = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * w).batch(2)  # <- left_library
    for batch in scaled:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(batch**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_variable_that_was_logged_beside_a_dataset():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    data = tf.data.Dataset.from_tensor_slices(tf.constant([1.0, 2.0]))
    (w * w).numpy()
    for x in data:
        with tf.GradientTape() as tape:
            loss = v * x  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_number_inside_of_a_custom_gradient():
    w, x = tf.Variable(2.0), tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        return x * float(w), lambda dy: dy  # <- left_library

    with tf.GradientTape() as tape:
        loss = scaled(x)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_order_of_elements():
    w = tf.Variable([3.0, 1.0])
    with tf.GradientTape() as tape:
        order = tf.argsort(w)  # <- not_floating
        loss = tf.reduce_sum(tf.gather(tf.constant([5.0, 6.0]), order))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_corner_of_a_crop():
    corner = tf.Variable([1.0, 2.0])
    picture = tf.reshape(tf.range(25.0), [5, 5])
    with tf.GradientTape() as tape:
        y, x = tf.unstack(tf.cast(corner, tf.int32))  # <- not_floating
        loss = tf.reduce_sum(picture[y : y + 2, x : x + 2])
    return tape.gradient(loss, corner), tf.autodiff.explain(loss, corner)


def a_hard_choice_beside_one_that_is_stopped():
    logits = tf.Variable([0.3, 0.8])
    with tf.GradientTape() as tape:
        soft = tf.nn.softmax(logits)
        hard = tf.cast(tf.equal(soft, tf.reduce_max(soft)), tf.float32)  # <- not_differentiable
        chosen = tf.stop_gradient(hard - soft) + hard
        loss = tf.reduce_sum(chosen * tf.constant([1.0, 2.0]))
    return tape.gradient(loss, logits), tf.autodiff.explain(loss, logits)


def an_index_of_open_rows_in_a_graph():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3])
        w = tf.compat.v1.get_variable("w", [3, 2])
        guess = tf.argmax(x @ w, 1)  # <- not_differentiable
        loss = tf.reduce_mean(tf.cast(guess, tf.float32))
        return tf.compat.v1.gradients(loss, w)[0], tf.autodiff.explain(loss, w)


def a_norm_that_was_only_printed():
    w, v = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
    print("norm of w:", float(tf.norm(w)))
    x = tf.constant([float(v) + 1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x * v)  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)

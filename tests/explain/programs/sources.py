"""Sources that the tape does not know."""

import copy

import numpy as np

import gradtape as tf


def a_constant_that_nobody_watched():
    x = tf.constant(3.0)  # <- not_watched
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_array_that_nobody_watched():
    batch = np.ones((2, 3), np.float32)
    x = tf.convert_to_tensor(batch)  # <- not_watched
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_computed_tensor_that_nobody_watched():
    x = tf.linspace(0.0, 1.0, 5)  # <- not_watched
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sin(x))
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_computed_tensor_watched_too_late():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        doubled = x * 2.0
        y = doubled * 3.0  # <- watched_late
        tape.watch(doubled)
    return tape.gradient(y, doubled), tf.autodiff.explain(y, doubled)


def watched_too_late():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        squared = x * x  # <- watched_late
        tape.watch(x)
        y = squared * 2.0
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def variables_are_not_watched():
    w = tf.Variable(3.0)  # <- not_watched
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = w * w
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def one_watched_variable_of_two():
    v = tf.Variable(3.0)
    w = tf.Variable(4.0)  # <- not_watched
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    return tape.gradient(y, [v, w]), tf.autodiff.explain(y, [v, w])


def not_trainable():
    w = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = w * w  # <- not_trainable
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def a_frozen_layer():
    class Layer:
        def __init__(self, trainable):
            self.kernel = tf.Variable([[1.0], [2.0]], trainable=trainable)

        def __call__(self, x):
            return x @ self.kernel  # <- not_trainable

    layer = Layer(trainable=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([[3.0, 4.0]])))
    return tape.gradient(loss, layer.kernel), tf.autodiff.explain(loss, layer.kernel)


def a_variable_became_a_tensor():
    x = tf.Variable(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        dy = tape.gradient(y, x)
        diagnosis = tf.autodiff.explain(y, x)
        x = x + 1  # <- rebound
    return dy, diagnosis


def rebound_before_the_tape():
    w = tf.Variable([1.0, 2.0])
    w = w * 2.0  # <- rebound
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w)
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def a_step_without_assign():
    w = tf.Variable(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = w * w
        dw = tape.gradient(loss, w)
        diagnosis = tf.autodiff.explain(loss, w)
        if dw is not None:
            w = w - 0.1 * dw  # <- rebound
    return dw, diagnosis


def the_list_still_holds_the_variable():
    w = tf.Variable(2.0)
    parameters = [w]
    w = w * 0.5  # <- rebound
    with tf.GradientTape() as tape:
        loss = w * w
    return tape.gradient(loss, parameters), tf.autodiff.explain(loss, parameters)


def clipped_in_place():
    w = tf.Variable([3.0, -4.0])
    w = tf.clip_by_value(w, -1.0, 1.0)  # <- rebound
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_integer_constant():
    x = tf.constant(10)  # <- not_floating
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_integer_variable():
    x = tf.Variable([1, 2])  # <- not_floating
    with tf.GradientTape() as tape:
        y = tf.cast(x, tf.float32) * 2.0
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_integer_array():
    x = tf.Variable(np.arange(3))  # <- not_floating
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * 2)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def unused():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y  # <- unused
    return tape.gradient(z, x), tf.autodiff.explain(z, x)


def another_target():
    w = tf.Variable(2.0)
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        first = w * 2.0
        second = v * 3.0  # <- unused
    tape.gradient(first, w)
    return tape.gradient(second, w), tf.autodiff.explain(second, w)


def delta_was_not_in_the_function():
    a = tf.Variable(2.0)
    delta = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(delta)
        b = tf.sin(a)  # <- unused
        shifted = a + delta
    return tape.gradient(b, shifted), tf.autodiff.explain(b, shifted)


def a_copy_was_asked():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        mine = tf.identity(w)  # <- wrong_object
        loss = w * w
    return tape.gradient(loss, mine), tf.autodiff.explain(loss, mine)


def a_stale_read():
    w = tf.Variable(2.0)
    value = w.read_value()  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = value * value
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_deep_copy():
    model = {"w": tf.Variable(2.0)}
    twin = copy.deepcopy(model)  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = twin["w"] ** 2
    return tape.gradient(loss, model["w"]), tf.autodiff.explain(loss, model["w"])


def a_layer_was_built_again():
    class Layer:
        def build(self):
            self.kernel = tf.Variable([1.0, 2.0], name="kernel")  # <- wrong_object

        def __call__(self, x):
            return self.kernel * x

    layer = Layer()
    layer.build()
    parameters = [layer.kernel]
    layer.build()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(3.0))
    return tape.gradient(loss, parameters), tf.autodiff.explain(loss, parameters)


def a_variable_of_the_same_name():
    old = tf.Variable([1.0, 2.0], name="weights")
    new = tf.Variable([3.0, 4.0], name="weights")  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(new * new)
    return tape.gradient(loss, old), tf.autodiff.explain(loss, old)


def one_of_several_that_were_made_at_one_line():
    ws = [tf.Variable([1.0]) for _ in range(3)]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(ws[0] * ws[1])  # <- unused
    return tape.gradient(loss, ws[2]), tf.autodiff.explain(loss, ws[2])


def a_scalar_of_zeros():
    x = tf.zeros([])  # <- not_watched
    with tf.GradientTape() as tape:
        y = 2.0 * x + 3.0
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def the_second_derivative_of_something_linear():
    table = tf.Variable(tf.ones([5, 2]))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(tf.gather(table, [1, 2]))
        slope = tf.convert_to_tensor(inner.gradient(loss, table))
        total = tf.reduce_sum(slope)  # <- unused
    return outer.gradient(total, table), tf.autodiff.explain(total, table, outer)


def an_attribute_became_a_tensor():
    class Model:
        def __init__(self):
            self.w = tf.Variable([1.0, 2.0])

        def step(self):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self.w**2)
            return loss, tape.gradient(loss, self.w)

    model = Model()
    _, dw = model.step()
    model.w = model.w - 0.1 * dw  # <- rebound
    loss, dw = model.step()
    return dw, tf.autodiff.explain(loss, model.w)


def a_dict_of_parameters_was_updated():
    parameters = {"w": tf.Variable(2.0)}
    for name in parameters:
        parameters[name] = parameters[name] * 0.9  # <- rebound
    with tf.GradientTape() as tape:
        loss = parameters["w"] * 3.0
    return tape.gradient(loss, parameters["w"]), tf.autodiff.explain(loss, parameters["w"])


def a_list_comprehension_as_an_update():
    weights = [tf.Variable(1.0), tf.Variable(2.0)]
    for step in range(2):
        with tf.GradientTape() as tape:
            loss = weights[0] * 3.0 + weights[1] ** 2
        grads = tape.gradient(loss, weights)
        if step == 0:
            weights = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]  # <- rebound
    return grads, tf.autodiff.explain(loss, weights)


def two_models_of_one_function():
    def build():
        x = tf.keras.Input([3])
        return tf.keras.Model(x, tf.keras.layers.Dense(1)(x))

    student = build()
    teacher = build()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(teacher(tf.ones([2, 3])) ** 2)  # <- wrong_object
    sources = student.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_module_that_was_made_again():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([2, 2]))

    net = Net()
    sources = list(net.trainable_variables)
    net = Net()  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.ones([1, 2]) @ net.w)
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def blocks_that_a_method_replaced():
    class Block(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([2]))

    class Stack(tf.Module):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(), Block()]

        def grow(self):
            self.blocks = [Block() for _ in range(3)]  # <- wrong_object

    net = Stack()
    sources = list(net.trainable_variables)
    net.grow()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net.blocks[0].w * net.blocks[1].w * net.blocks[2].w)
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_column_taken_beside_the_model():
    points = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(points)
        y = tf.reduce_sum(points**2)  # <- unused
        x = points[:, :1]
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def a_source_that_was_only_printed():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        print(float(v))
        loss = w * 3.0  # <- unused
    return tape.gradient(loss, v), tf.autodiff.explain(loss, v)

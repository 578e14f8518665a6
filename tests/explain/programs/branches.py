"""Branches that did not run, loops without a trip, and objects in the place of others."""

import numpy as np

import gradtape as tf


def an_early_return():
    w, slope = tf.Variable(2.0), tf.Variable(0.1)

    def leaky(v):
        if v > 0.0:  # <- branch_not_taken
            return v
        return slope * v

    with tf.GradientTape() as tape:
        loss = leaky(w) ** 2
    return tape.gradient(loss, [w, slope]), tf.autodiff.explain(loss, [w, slope])


def a_threshold_that_only_decides():
    threshold, x = tf.Variable(0.4), tf.constant(0.7)
    with tf.GradientTape() as tape:
        cost = tf.constant(10.0)
        if threshold < x:  # <- not_differentiable
            cost = cost * 2.0
    return tape.gradient(cost, threshold), tf.autodiff.explain(cost, threshold)


def a_tolerance_of_a_loop():
    tolerance, a = tf.Variable(0.01), tf.constant(2.0)
    with tf.GradientTape() as tape:
        x = a
        while tf.abs(x * x - a) > tolerance:  # <- not_differentiable
            x = 0.5 * (x + a / x)
    return tape.gradient(x, tolerance), tf.autodiff.explain(x, tolerance)


def a_mask_that_is_counted():
    w, x = tf.Variable([[0.3], [0.9]]), tf.constant([[1.0, 2.0], [-3.0, 1.0]])
    with tf.GradientTape() as tape:
        p = tf.sigmoid(x @ w)[:, 0]
        kept = tf.boolean_mask(p, p > 0.5)
        count = tf.shape(kept)[0]  # <- not_differentiable
        loss = 1.0 - tf.cast(count, tf.float32) / 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def places_that_are_counted():
    w = tf.Variable([0.2, 0.8, 0.9])
    with tf.GradientTape() as tape:
        score = tf.sigmoid(w)
        count = tf.size(tf.where(score > 0.5))  # <- not_differentiable
        loss = (tf.cast(count, tf.float32) - 1.0) ** 2
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_size_that_no_value_changes():
    w, x = tf.Variable([0.2, 0.8]), tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        high = tf.cast(w > 0.5, tf.float32)
        loss = tf.reduce_sum(x) / tf.cast(tf.size(high), tf.float32)  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_other_expert():
    class Experts:
        def __init__(self):
            self.low, self.high = tf.Variable(1.0), tf.Variable(2.0)

        def __call__(self, x):
            return tf.cond(x > 0.0, lambda: self.up(x), lambda: self.down(x))  # <- branch_not_taken

        def up(self, x):
            return x * self.high

        def down(self, x):
            return x * self.low

    experts = Experts()
    with tf.GradientTape() as tape:
        loss = experts(tf.constant(3.0))
    return tape.gradient(loss, experts.low), tf.autodiff.explain(loss, experts.low)


def a_layer_of_the_other_branch():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.low, self.high = tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)

        def call(self, x):
            if tf.reduce_mean(x) > 0.0:  # <- branch_not_taken
                return self.high(x)
            return self.low(x)

    model, x = Model(), tf.ones([1, 2])
    model.low(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    weights = model.low.trainable_variables
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def a_table_of_functions():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    table = {0: lambda: a * 2.0, 1: lambda: b * 3.0}
    with tf.GradientTape() as tape:
        y = tf.switch_case(tf.constant(1), table)  # <- branch_not_taken
    return tape.gradient(y, [a, b]), tf.autodiff.explain(y, [a, b])


def cases_of_functions():
    a, b, x = tf.Variable(1.0), tf.Variable(2.0), tf.constant(5.0)

    def small():
        return a * x

    def large():
        return b * x

    with tf.GradientTape() as tape:
        loss = tf.case([(x < 3.0, small)], default=large)  # <- branch_not_taken
    return tape.gradient(loss, a), tf.autodiff.explain(loss, a)


def a_loop_without_a_trip():
    w, scale = tf.Variable(2.0), tf.Variable(0.5)
    with tf.GradientTape() as tape:
        y = w * 1.0
        while y > 10.0:  # <- branch_not_taken
            y = y * scale
    return tape.gradient(y, [w, scale]), tf.autodiff.explain(y, [w, scale])


def only_printed_in_a_branch():
    w, b = tf.Variable(1.0), tf.Variable(2.0)
    verbose = False
    with tf.GradientTape() as tape:
        y = w * 2.0  # <- unused
        if verbose:
            print(b.name)
    return tape.gradient(y, [w, b]), tf.autodiff.explain(y, [w, b])


def a_loop_before_the_tape():
    w, b = tf.Variable(1.0), tf.Variable(2.0)
    for _ in range(2):
        b.assign_add(1.0)
    with tf.GradientTape() as tape:
        y = w * 2.0  # <- unused
    return tape.gradient(y, [w, b]), tf.autodiff.explain(y, [w, b])


def an_attribute_that_was_reset():
    class Net:
        def __init__(self):
            self.w = tf.Variable([1.0, 2.0])

        def reset(self):
            self.w = tf.Variable([3.0, 4.0])  # <- wrong_object

    net = Net()
    parameters = [net.w]
    net.reset()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net.w**2)
    return tape.gradient(loss, parameters), tf.autodiff.explain(loss, parameters)


def a_layer_that_was_replaced():
    class Encoder:
        def __init__(self, units):
            self.dense = tf.keras.layers.Dense(units)

        def __call__(self, x):
            return self.dense(x)

    encoder, x = Encoder(2), tf.ones([2, 3])
    encoder(x)
    weights = encoder.dense.trainable_variables
    encoder.dense = tf.keras.layers.Dense(4)  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(encoder(x) ** 2)
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def a_clone_that_got_the_weights():
    model = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(2)])
    twin = tf.keras.Sequential.from_config(model.get_config())
    twin.set_weights(model.get_weights())
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(twin(tf.ones([2, 3])) ** 2)  # <- wrong_object
    weights = model.trainable_variables
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


weight = None


def a_global_that_became_a_tensor():
    global weight
    weight = tf.Variable(2.0)
    weight = updated(weight, 0.1)  # <- rebound

    def loss_of():
        with tf.GradientTape() as tape:
            loss = weight * weight
        return tape.gradient(loss, weight), tf.autodiff.explain(loss, weight)

    return loss_of()


def updated(w, gradient):
    return w - 0.1 * gradient


def a_helper_gave_a_tensor():
    w = tf.Variable(1.0)
    w = updated(w, 2.0)  # <- rebound
    with tf.GradientTape() as tape:
        loss = w * w
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def two_that_became_tensors():
    w, b = tf.Variable(1.0), tf.Variable(0.5)
    w, b = w - 0.1, b - 0.2  # <- rebound
    with tf.GradientTape() as tape:
        loss = w * b
    return tape.gradient(loss, [w, b]), tf.autodiff.explain(loss, [w, b])


def rounded_before_numpy():
    w = tf.Variable([1.2, 2.7])
    with tf.GradientTape() as tape:
        rounded = tf.round(w)  # <- not_differentiable
        mean = rounded.numpy().mean()
        loss = tf.constant(mean) * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def cast_before_a_list_of_ints():
    w = tf.Variable([1.5, 2.5])
    with tf.GradientTape() as tape:
        whole = tf.cast(w * 10.0, tf.int32)  # <- not_floating
        values = [int(v) for v in whole]
        loss = tf.reduce_mean(tf.constant(values, tf.float32))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def normalised_before_the_tape():
    w = tf.Variable([3.0, 4.0])
    unit = w / tf.norm(w)  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(unit * tf.constant([1.0, 2.0]))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_scalar_type_of_numpy():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        x = np.float32(w * 2.0)  # <- left_library
        loss = tf.square(x)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_array_in_an_op():
    mean, deviation = tf.Variable([0.1]), tf.Variable([0.2])
    with tf.GradientTape() as tape:
        z = mean + tf.constant([0.5]) * tf.exp(deviation.numpy())  # <- left_library
        loss = tf.reduce_sum(z**2)
    return tape.gradient(loss, [mean, deviation]), tf.autodiff.explain(loss, [mean, deviation])


def an_array_in_numpy():
    w = tf.Variable([0.1, 0.2])
    with tf.GradientTape() as tape:
        shares = np.exp(w.numpy())  # <- left_library
        loss = tf.reduce_sum(shares)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_loop_of_functions_without_a_trip():
    w = tf.Variable(1.5)
    count = tf.constant(0)
    with tf.GradientTape() as tape:
        loop = tf.while_loop(lambda i, x: i < count, lambda i, x: (i + 1, x * w), [0, 1.0])  # <- branch_not_taken
        loss = loop[1] * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_layer_of_a_module_in_the_other_arm():
    class Coach(tf.Module):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = tf.keras.layers.Dense(2), tf.keras.layers.Dense(2)
            self.teacher.build([None, 2])
            self.taught = False

        def step(self, x):
            return self.teacher(x) if self.taught else self.student(x)  # <- branch_not_taken

    coach = Coach()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(coach.step(tf.ones([1, 2])) ** 2)
    sources = coach.teacher.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_number_that_only_counts_trips():
    n, w = tf.Variable(3.0), tf.Variable(1.1)
    with tf.GradientTape() as tape:
        x = tf.constant(1.0)
        for _ in range(int(n.numpy())):  # <- left_library
            x = x * w
    return tape.gradient(x, n), tf.autodiff.explain(x, n)


def a_variable_that_was_replaced():
    class Plain:
        pass

    model = Plain()
    model.scale = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = model.scale * 3.0
    model.scale = tf.Variable(5.0)  # <- wrong_object
    return tape.gradient(loss, model.scale), tf.autodiff.explain(loss, model.scale)


def a_plain_objects_layer_that_was_replaced():
    class Plain:
        def __init__(self):
            self.dense = tf.keras.layers.Dense(1)

        def __call__(self, x):
            return self.dense(x)

    model, x = Plain(), tf.ones([1, 2])
    model(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    model.dense = tf.keras.layers.Dense(1)
    model.dense.build((1, 2))  # <- wrong_object
    return tape.gradient(loss, model.dense.kernel), tf.autodiff.explain(loss, model.dense.kernel)


def a_branch_on_one_line():
    x, w = tf.Variable(-1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
        if x > 0.0: y = y * w  # <- branch_not_taken  # noqa: E701  # fmt: skip
        loss = y * y
    return tape.gradient(loss, [w, x]), tf.autodiff.explain(loss, [w, x])

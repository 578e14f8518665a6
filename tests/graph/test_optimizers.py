"""TensorFlow 1's optimizers, in a graph and in eager code, against the numbers of TensorFlow 2.21."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from tests.graph.values import same

FEATURES = np.cos(np.arange(20)).reshape(5, 4).astype(np.float32)
LABELS = np.array([0, 1, 2, 0, 1])
START = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)

# optimizer → the loss before the third step, and the first row of the weights after it
AFTER_THREE = {
    "Adam": (lambda: tf.train.AdamOptimizer(0.1), 0.75855833, [-0.7038279, -1.1137458, -0.9358674]),
    "GradientDescent": (lambda: tf.train.GradientDescentOptimizer(0.1), 1.0761516, [-0.8957603, -0.9118419, -0.6469433]),
    "Momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), 1.0108056, [-0.8038079, -0.9945724, -0.6561652]),
    "RMSProp": (lambda: tf.train.RMSPropOptimizer(0.01), 1.2109841, [-0.9880972, -0.8289469, -0.6375507]),
    "Adagrad": (lambda: tf.train.AdagradOptimizer(0.1), 0.9318576, [-0.82312685, -0.987815, -0.6686739]),
    "Adadelta": (lambda: tf.train.AdadeltaOptimizer(0.1), 1.2280214, [-0.99986434, -0.8183175, -0.6364993]),
    "Ftrl": (lambda: tf.train.FtrlOptimizer(0.1), 0.870599, [-0.16111943, -0.4137512, -0.0716831]),
}


@pytest.mark.parametrize("make, loss_before, row", AFTER_THREE.values(), ids=AFTER_THREE)
def test_three_steps(session, make, loss_before, row):
    x, labels = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int64, [None])
    w = tf.get_variable("w", initializer=START)
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(x, w) + b))
    step = tf.train.get_or_create_global_step()
    train = make().minimize(loss, global_step=step)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        _, value = session.run([train, loss], {x: FEATURES, labels: LABELS})
    same(value, loss_before, 2e-5)
    same(session.run(w)[0], row, 2e-5)
    assert session.run(step) == 3


@pytest.mark.parametrize("make, loss_before, row", AFTER_THREE.values(), ids=AFTER_THREE)
def test_three_steps_in_eager_code(make, loss_before, row):
    w, b = tf.Variable(START), tf.Variable(tf.zeros([3]))
    optimizer = make()

    def loss():
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=tf.matmul(FEATURES, w) + b))

    for _ in range(3):
        value = loss()
        optimizer.minimize(loss)
    same(value.numpy(), loss_before, 2e-5)
    same(w.numpy()[0], row, 2e-5)


# after a step on rows 0, 2, 0 and one on row 1: whose slots decay where nothing is named
SPARSE = {
    "Momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), [[0.0, 0.6], [1.6, 2.4], [3.2, 4.0]]),
    "Adam": (lambda: tf.train.AdamOptimizer(0.1), [[0.0, 0.833], [1.9256, 2.9256], [3.833, 4.833]]),
    "RMSProp": (lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5), [[0.0, 0.747], [1.747, 2.7172], [3.7039, 4.6971]]),
}


@pytest.mark.parametrize("make, after", SPARSE.values(), ids=SPARSE)
def test_sparse_gradients(session, make, after):
    table = tf.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    ids = tf.placeholder(tf.int32, [None])
    train = make().minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2))
    session.run(tf.global_variables_initializer())
    session.run(train, {ids: [0, 2, 0]})
    session.run(train, {ids: [1]})
    same(session.run(table), after, 1e-4)


def test_slots(session):
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.AdamOptimizer()
    train = optimizer.minimize(tf.reduce_sum(v * v))
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(v, "m").name == "v/Adam:0"
    assert optimizer.get_slot(v, "nothing") is None
    assert [x.name for x in optimizer.variables()] == ["beta1_power:0", "beta2_power:0", "v/Adam:0", "v/Adam_1:0"]
    assert (train.name, train.type) == ("Adam", "NoOp")


def test_slots_are_under_the_variable_scope(session):
    v = tf.Variable([1.0], name="v")
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [1])
    loss = tf.reduce_sum(v * v) + tf.reduce_sum(w)
    with tf.variable_scope("opt"):
        tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.name_scope("ns"):
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    with tf.name_scope("ns"), tf.variable_scope("vs"):
        tf.train.ExponentialMovingAverage(0.9).apply([v, w])
    names = ["v", "a/w", "opt/beta1_power", "opt/beta2_power", "opt/v/Adam", "opt/v/Adam_1", "opt/a/w/Adam", "opt/a/w/Adam_1"]
    names += ["v/Momentum", "a/w/Momentum", "vs/v/ExponentialMovingAverage", "vs/a/w/ExponentialMovingAverage"]
    assert [x.op.name for x in tf.global_variables()] == names


def test_masked_moments_freeze_an_element(session):
    """Adam moves an element whose gradient is 0 now but was not before; without its moments it stays."""
    v = tf.Variable([1.0, 1.0])
    mask = tf.placeholder(tf.float32, [2])
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(v * v * mask))
    frozen = [optimizer.get_slot(v, name).assign(optimizer.get_slot(v, name) * mask) for name in ("m", "v")]
    session.run(tf.global_variables_initializer())
    session.run(train, {mask: [1.0, 1.0]})
    before = session.run(v)
    session.run(train, {mask: [1.0, 0.0]})
    moved = session.run(v)
    assert moved[1] < before[1]
    session.run(frozen, {mask: [1.0, 0.0]})
    session.run(train, {mask: [1.0, 0.0]})
    assert session.run(v)[1] == moved[1]


def test_gradient_descent_does_not_move_an_element_without_a_gradient(session):
    v, mask = tf.Variable([1.0, 1.0]), tf.placeholder(tf.float32, [2])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v * mask))
    session.run(v.initializer)
    session.run(train, {mask: [1.0, 1.0]})
    session.run(train, {mask: [1.0, 0.0]})
    same(session.run(v), [0.64, 0.8])


def test_gradients_that_are_changed_before_they_are_applied(session):
    v = tf.Variable([3.0, 4.0])
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    clipped, norm = tf.clip_by_global_norm([d for d, _ in pairs], 1.0)
    train = optimizer.apply_gradients(zip(clipped, [v], strict=True))
    session.run(tf.global_variables_initializer())
    assert session.run([train, norm])[1] == 10.0
    same(session.run(v), [2.4, 3.2])


RATES = {
    "exponential": (lambda step: tf.train.exponential_decay(0.1, step, 10, 0.5, staircase=True), 0.1, 0.025),
    "exponential, smooth": (lambda step: tf.train.exponential_decay(0.1, step, 10, 0.5), 0.1, 0.017677669),
    "natural": (lambda step: tf.train.natural_exp_decay(0.1, step, 10, 0.5), 0.1, 0.02865048),
    "inverse time": (lambda step: tf.train.inverse_time_decay(0.1, step, 10, 0.5), 0.1, 0.044444446),
    "polynomial": (lambda step: tf.train.polynomial_decay(0.1, step, 50, 0.0, power=2.0), 0.1, 0.025),
    "cosine": (lambda step: tf.train.cosine_decay(0.1, step, 50), 0.1, 0.05),
    "piecewise": (lambda step: tf.train.piecewise_constant(step, [10, 20], [1.0, 0.5, 0.25]), 1.0, 0.25),
}


@pytest.mark.parametrize("make, first, later", RATES.values(), ids=RATES)
def test_learning_rates(session, make, first, later):
    step = tf.Variable(0, trainable=False)
    rate = make(step)
    session.run(step.initializer)
    same(session.run(rate), first)
    session.run(step.assign(25))
    same(session.run(rate), later)


BAD = {
    "no gradient": (lambda o, v: o.minimize(tf.constant(1.0) * 2), ValueError, "No gradients provided for any variable, check"),
    "none to apply": (lambda o, v: o.apply_gradients([(None, v)]), ValueError, "No gradients provided for any variable: "),
    "nothing to apply": (lambda o, v: o.apply_gradients([]), ValueError, "No variables provided"),
    "no variable": (lambda o, v: o.apply_gradients([(tf.constant(1.0), 3)]), TypeError, "Variable must be a tf.Variable"),
    "no gradient's type": (lambda o, v: o.apply_gradients([(object(), v)]), TypeError, "Gradient must be convertible"),
    "no gate": (lambda o, v: o.minimize(v * v, gate_gradients=7), ValueError, "gate_gradients must be one of"),
}


@pytest.mark.parametrize("do, error, message", BAD.values(), ids=BAD)
def test_bad_calls(session, do, error, message):
    with pytest.raises(error, match=message):
        do(tf.train.GradientDescentOptimizer(0.1), tf.Variable(1.0))


def test_eager_code_gives_the_loss_as_a_function():
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="should be a function when eager execution is enabled"):
        tf.train.GradientDescentOptimizer(0.1).minimize(v * v)


DENSE, SPARSE = tf.constant([0.1, 0.1]), tf.IndexedSlices([0.1], [0], [2])
PROXIMAL = {
    "descent": (lambda: tf.train.ProximalGradientDescentOptimizer(3.0, 0.001, 0.002), DENSE, [0.08401369, 1.0662276]),
    "descent, rows": (lambda: tf.train.ProximalGradientDescentOptimizer(3.0, 0.001, 0.002), SPARSE, [0.08401369, 2.0]),
    "Adagrad": (lambda: tf.train.ProximalAdagradOptimizer(3.0, 0.1, 0.001, 2.0), DENSE, [-0.04933283, -0.04917075]),
    "Adagrad, rows": (lambda: tf.train.ProximalAdagradOptimizer(3.0, 0.1, 0.001, 2.0), SPARSE, [-0.04933283, 2.0]),
}


@pytest.mark.parametrize("make, gradient, expected", PROXIMAL.values(), ids=PROXIMAL)
def test_proximal(make, gradient, expected):
    w, optimizer = tf.Variable([1.0, 2.0]), make()
    for _ in range(3):
        optimizer.apply_gradients([(gradient, w)])
    same(w.numpy(), expected, 1e-5)


def test_dual_averaging(session):
    step, w = tf.train.get_or_create_global_step(), tf.Variable([0.0, 0.0])
    train = tf.train.AdagradDAOptimizer(3.0, step).apply_gradients([(tf.constant([0.1, 0.2]), w)], step)
    session.run(tf.global_variables_initializer())
    for expected in ([-0.9045341, -1.6035675], [-1.7320509, -2.8284273]):
        session.run(train)
        same(session.run(w), expected, 1e-5)


@pytest.mark.parametrize("eager", [False, True])
def test_constraints_are_applied(eager):
    def after(run):
        w = tf.Variable([1.0, 2.0], constraint=lambda x: tf.clip_by_value(x, -0.1, 0.5))
        optimizer = tf.train.AdamOptimizer(0.1)
        run(optimizer.minimize(lambda: tf.reduce_sum(w**2), var_list=[w]))
        with pytest.raises(RuntimeError, match="constraint"):
            optimizer.apply_gradients([(SPARSE, w)])
        return w

    if eager:
        same(after(lambda _: None).numpy(), [0.5, 0.5])
        return
    with tf.Graph().as_default(), tf.Session() as session:

        def run(train):
            session.run(tf.global_variables_initializer())
            session.run(train)

        same(session.run(after(run)), [0.5, 0.5])


class Averaging(tf.train.Optimizer):
    """An optimizer of a user's: descends along the sum of all gradients."""

    def __init__(self, rate):
        super().__init__(False, "Averaging")
        self._rate = rate

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "sum", self._name)

    def _prepare(self):
        self._rate_tensor = tf.convert_to_tensor(self._rate)

    def _resource_apply_dense(self, gradient, variable):
        total = self.get_slot(variable, "sum").assign_add(gradient)
        return tf.group(variable.assign_sub(self._rate_tensor * total), total)

    def _resource_apply_sparse(self, gradient, variable, indices):
        return variable.scatter_sub(tf.IndexedSlices(self._rate_tensor * gradient, indices))


def test_an_optimizer_of_ones_own(session):
    w = tf.Variable([1.0, 2.0], name="w")
    optimizer = Averaging(0.1)
    train = optimizer.minimize(tf.reduce_sum(w**2))
    session.run(tf.global_variables_initializer())
    session.run(train)
    session.run(train)
    same(session.run(w), [0.44, 0.88], 1e-5)
    assert optimizer.get_slot(w, "sum").name == "w/Averaging:0"
    rows = optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([2]), tf.constant([1, 1])), w)])
    session.run(rows)
    same(session.run(w), [0.44, 0.68], 1e-5)


# schedule → its values at steps 0, 5, 12 (TensorFlow 2.21)
RATES = {
    "polynomial, to its end": (lambda s: tf.train.polynomial_decay(0.05, s, 10, 0.001, power=0.5), [0.05, 0.0356482, 0.001]),
    "polynomial, cycles": (lambda s: tf.train.polynomial_decay(0.05, s, 4, 0.001, cycle=True), [0.05, 0.019375, 0.001]),
    "cosine, restarts": (lambda s: tf.train.cosine_decay_restarts(0.1, s, 4), [0.1, 0.096194, 0.1]),
    "cosine, longer and lower": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 4, t_mul=1.5, m_mul=0.5, alpha=0.1),
        [0.1, 0.0519856, 0.029868],
    ),
    "linear cosine": (lambda s: tf.train.linear_cosine_decay(0.1, s, 10), [0.1001, 0.0251, 0.0001]),
    "linear cosine, periods": (
        lambda s: tf.train.linear_cosine_decay(0.1, s, 10, num_periods=2.0, alpha=0.1, beta=0.01),
        [0.111, 0.061, 0.011],
    ),
}


@pytest.mark.parametrize("schedule, expected", RATES.values(), ids=RATES)
def test_rates(schedule, expected):
    step = tf.Variable(0)
    rate = schedule(step)
    values = []
    for number in (0, 5, 12):
        step.assign(number)
        values.append(float(rate()))
    np.testing.assert_allclose(values, expected, rtol=2e-5)


def test_averages_of_tensors_begin_without_bias(session):
    a, b = tf.Variable(10.0, name="a"), tf.Variable(30.0, name="b")
    total = a + b
    average = tf.train.ExponentialMovingAverage(0.25, zero_debias=True)
    move = average.apply([a, total])
    session.run(tf.global_variables_initializer())
    assert session.run([average.average(a), average.average(total)]) == [10.0, 0.0]
    session.run(move)
    same(session.run(average.average(total)), 40.0, 1e-6)
    assert sorted(average.variables_to_restore([a])) == [
        "a/ExponentialMovingAverage", "add/ExponentialMovingAverage", "add/ExponentialMovingAverage/biased",
        "add/ExponentialMovingAverage/local_step", "b",
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [[], [1], [1, 2]])
@pytest.mark.parametrize("name", ["GradientDescent", "Adam", "Adagrad", "RMSProp", "Ftrl"])
def test_a_gradient_of_another_shape_changes_nothing(name, shape):
    with tf.init_scope():
        first, second = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
        optimizer = getattr(tf.compat.v1.train, f"{name}Optimizer")(0.5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="var and grad do not have the same shape"):
            optimizer.apply_gradients([(tf.ones([2]), first), (tf.ones(shape), second)])
        assert first.numpy().tolist() == second.numpy().tolist() == [1.0, 2.0]

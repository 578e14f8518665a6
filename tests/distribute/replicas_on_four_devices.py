"""What holds for the replicas of a MirroredStrategy on up to four devices, as functions `check_*`: TensorFlow 2.21's answers."""

import signal
import tempfile
from collections import deque
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import ambient
from gradtape._src.core.programs.program import Trace
from gradtape._src.distribute.context import EnteredStrategy
from gradtape._src.summary.summary import local as state
from tests.distribute.checks import report
from tests.values.cells import agree, told
from tests.values.differences import EXPECTED
from tests.values.functions import FUNCTIONS

distribute = tf.distribute
NONE, SUM, MEAN, FIRST = (tf.VariableAggregation[name] for name in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"))
ON_READ = tf.VariableSynchronization.ON_READ
TWO = distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def number():
    return tf.cast(distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def numbers(value):
    """What each replica has, in lists."""
    return [x.numpy().tolist() if hasattr(x, "numpy") else x for x in TWO.experimental_local_results(value)]


def made(value, **options):
    with TWO.scope():
        return tf.Variable(value, **options)


def raises(kind, call, *said):
    with pytest.raises(kind) as caught:
        call()
    assert all(part in str(caught.value) for part in said), caught.value


def check_what_run_returns():
    same = tf.constant(3.0)
    assert TWO.num_replicas_in_sync == 2 and TWO.extended.worker_devices[1].endswith("CPU:1")
    assert numbers(TWO.run(number)) == [0, 1] and numbers(tf.function(lambda: TWO.run(number))()) == [0, 1]
    assert [TWO.run(lambda value=value: value) for value in (1, 1.0, None, "a")] == [1, 1.0, None, "a"]
    assert TWO.run(lambda: same) is same and numbers(TWO.run(lambda: tf.constant(1))) == [1, 1]
    found = TWO.run(lambda: {"a": (number(), [1, None]), "b": int(number())})
    assert numbers(found["a"][0]) == [0, 1] and found["a"][1] == [1, None] and numbers(found["b"]) == [0, 1]
    assert str(TWO.run(number)) == (
        "PerReplica:{\n  0: tf.Tensor(0.0, shape=(), dtype=float32),\n  1: tf.Tensor(1.0, shape=(), dtype=float32)\n}"
    )
    assert repr(found["b"]) == "PerReplica:{\n  0: 0,\n  1: 1\n}" and found["b"].values == (0, 1)


def check_where_code_runs():
    def around():
        context = distribute.get_replica_context()
        return context and context.num_replicas_in_sync, distribute.in_cross_replica_context(), distribute.get_strategy() is TWO

    assert TWO.run(around) == (2, False, True)

    def inside():
        return distribute.get_replica_context().merge_call(lambda strategy: (strategy is TWO, *around()))

    assert TWO.run(inside) == (True, None, True, True)
    for call in (lambda: TWO.run(int), lambda: TWO.reduce("SUM", 1.0, None)):
        raises(RuntimeError, lambda call=call: TWO.run(call), "cross-replica context")
    assert not distribute.has_strategy()


def check_reductions():
    each = TWO.run(lambda: number() + 1)
    rows = TWO.run(lambda: tf.fill([1 + int(number()), 2], number() + 1))
    assert TWO.reduce("SUM", each, axis=None).numpy() == 3 and TWO.reduce("MEAN", each, axis=None).numpy() == 1.5
    assert [float(x) for x in TWO.reduce("SUM", [each, each], axis=None)] == [3, 3]
    assert TWO.reduce("SUM", rows, axis=0).numpy().tolist() == [5, 5]
    np.testing.assert_allclose(TWO.reduce("MEAN", rows, axis=0), [5 / 3, 5 / 3])
    assert TWO.gather(rows, axis=0).numpy().tolist() == [[1, 1], [2, 2], [2, 2]]
    assert TWO.reduce("SUM", tf.constant([1.0, 2.0, 6.0]), axis=0).numpy() == 18  # the same in each of two
    assert TWO.reduce("MEAN", 3.0, axis=None) == TWO.reduce("MEAN", tf.constant(3.0), axis=None) == 3
    for value in (3.0, tf.constant(0.0), None, (each, 1.0)):
        raises(ValueError, lambda value=value: TWO.reduce("SUM", value, axis=None), "A non-DistributedValues value")
    raises(TypeError, lambda: each + 1, "unsupported operand")
    raises(ValueError, lambda: tf.reduce_sum(each), "It looks like you are using a PerReplica object while not inside")
    raises(AttributeError, lambda: each.numpy())
    assert TWO.experimental_local_results(3) == (3,) and isinstance(each, distribute.DistributedValues)


def check_collectives():
    def collected():
        context = distribute.get_replica_context()
        mean = context.all_reduce("MEAN", {"a": number() + 1, "b": [tf.constant(1.0)]})
        slices = context.all_reduce("SUM", tf.IndexedSlices(tf.fill([1, 2], number() + 1), [int(number())], tf.constant([3, 2])))
        joined = context.all_gather(tf.fill([1 + int(number())], number()), axis=0)
        return context.all_reduce("SUM", number() + 1), mean["a"], mean["b"][0], tf.convert_to_tensor(slices), joined

    total, a, b, slices, joined = TWO.run(collected)
    assert numbers(total) == [3, 3] and numbers(a) == [1.5, 1.5] and numbers(b) == [1, 1]
    assert numbers(slices) == [[[1, 1], [2, 2], [0, 0]]] * 2 and numbers(joined) == [[0, 1, 1]] * 2
    order = []

    def turns():
        order.append(("a", int(number())))
        distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))
        order.append(("b", int(number())))

    TWO.run(turns)
    assert order == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def check_gradients_of_collectives():
    def reduced():
        x = number() + 1
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = distribute.get_replica_context().all_reduce("SUM", x) ** 2 * (number() + 1)
        return tape.gradient(y, x)

    def gathered():
        x = tf.fill([2], number() + 1)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(distribute.get_replica_context().all_gather(x, axis=0) * [1.0, 2.0, 3.0, 4.0]) * (number() + 1)
        return tape.gradient(y, x)

    for run in (TWO.run, lambda step: tf.function(lambda: TWO.run(step))()):
        assert numbers(run(reduced)) == [18, 18] and numbers(run(gathered)) == [[3, 6], [9, 12]]


def check_variables_by_aggregation():
    """(value across replicas, in each) after assign, assign_add and assign_sub of 1 and 2 in the replicas."""
    wanted = {
        NONE: [(1, [1, 2]), (2, [2, 4]), (1, [1, 2])],
        SUM: [(3, [3, 3]), (6, [6, 6]), (3, [3, 3])],
        MEAN: [(1.5, [1.5, 1.5]), (3, [3, 3]), (1.5, [1.5, 1.5])],
        FIRST: [(1, [1, 1]), (2, [2, 2]), (1, [1, 1])],
    }
    on_read = {
        SUM: [(3, [1, 2]), (6, [2, 4]), (3, [1, 2])],
        MEAN: [(1.5, [1, 2]), (3, [2, 4]), (1.5, [1, 2])],
        FIRST: wanted[NONE],
    }
    for compiled in (False, True):
        for options, answers in [({}, wanted), ({"synchronization": ON_READ}, on_read)]:
            for aggregation, steps in answers.items():
                v = made(1.0, aggregation=aggregation, **options)
                for how, (whole, each) in zip(("assign", "assign_add", "assign_sub"), steps, strict=True):

                    def step(how=how, v=v):
                        getattr(v, how)(number() + 1)
                        return v + 0.0

                    run = tf.function(lambda step=step: TWO.run(step)) if compiled else (lambda step=step: TWO.run(step))
                    assert numbers(run()) == [x.numpy() for x in v.values] == each, (aggregation, how, options, compiled)
                    assert v.numpy() == whole


def check_variables_across_replicas():
    v, mean = made(1.0), made(1.0, synchronization=ON_READ, aggregation=MEAN)
    total = made(1.0, synchronization=ON_READ, aggregation=SUM)
    assert total.numpy() == 2 and not total.trainable and numbers(TWO.run(lambda: total + 0.0)) == [1, 1]
    TWO.run(lambda: v.assign(number()))
    v.assign_add(10.0)
    assert [x.numpy() for x in v.values] == [10, 11] and numbers(TWO.run(lambda: v + 0.0)) == [10, 11]
    with TWO.scope():
        assert v.assign(5.0).numpy() == 5
    assert [x.numpy() for x in v.values] == [5, 5]
    total.assign(10.0)
    assert [x.numpy() for x in total.values] == [5, 5] and total.numpy() == 10
    raises(ValueError, lambda: total.assign_add(1.0), "does not support `assign_add` in cross-replica context")
    mean.assign_add(1.0)
    assert [x.numpy() for x in mean.values] == [2, 2]
    alone = made(1.0, synchronization=ON_READ)
    raises(ValueError, alone.numpy, "Could not convert from `tf.VariableAggregation` VariableAggregation.NONE")
    raises(ValueError, lambda: made(1.0, synchronization=tf.VariableSynchronization.NONE), "is not supported with tf.distribute")
    TWO.extended.update(v, lambda held, x: held.assign(x), args=(TWO.run(number),))
    assert [x.numpy() for x in v.values] == [0, 1]
    texts = [f"<tf.Variable '{name}:0' shape=() dtype=float32, numpy=1.0>" for name in ("v", "v/replica_1")]
    assert str(made(1.0, name="v")) == f"MirroredVariable:{{\n  0: {texts[0]},\n  1: {texts[1]}\n}}"
    assert type(total).__name__ == "SyncOnReadVariable" and isinstance(v, distribute.DistributedValues)
    w = made(tf.zeros([3]), aggregation=SUM)
    raises(NotImplementedError, lambda: TWO.run(lambda: w.scatter_nd_update([[0]], [1.0])), "merge_call")


def check_variables_that_are_made_in_replicas():
    calls = []

    def step():
        calls.append(1)
        return tf.Variable(number(), name="a"), tf.Variable(7.0)

    first, second = TWO.run(step)
    assert len(calls) == 2 and first.numpy() == 0 and second.numpy() == 7 and type(first).__name__ == "MirroredVariable"

    class Lazy(tf.Module):
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(2.0)
            return self.w * x

    lazy = Lazy()
    assert numbers(TWO.run(lambda: lazy(number() + 1))) == [2, 4] == numbers(TWO.run(lazy, args=(TWO.run(lambda: number() + 1),)))


def check_what_was_traced_before_replicas_differ():
    v = made(1.0)
    read = tf.function(lambda: TWO.run(lambda: v * 1.0))
    reset = tf.function(lambda: v.assign(0.0))
    assert numbers(read()) == [1, 1]
    reset()
    TWO.run(lambda: v.assign_add(number() + 1))
    assert numbers(read()) == [1, 2]
    reset()
    assert numbers(read()) == [0, 0] and [x.numpy() for x in v.values] == [0, 0]

    def step():
        v.assign_add(number())
        return v * 1.0

    counted = tf.function(lambda: TWO.run(step))
    assert [numbers(counted()) for _ in range(3)] == [[0, 1], [0, 2], [0, 3]]


def check_functions_in_replicas():
    traced = []

    @tf.function
    def inner(x):
        traced.append(1)
        return distribute.get_replica_context().all_reduce("SUM", x) + number()

    for _ in range(3):
        assert numbers(TWO.run(inner, args=(tf.constant(1.0),))) == [2, 3]
    assert len(traced) == 2  # once for each replica

    @tf.function
    def plain(x):
        return x * number()

    assert numbers(TWO.run(lambda: plain(tf.constant(5.0)))) == [0, 5]
    merging = tf.function(lambda: distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0)))
    raises(RuntimeError, lambda: TWO.run(lambda: merging() + 1), "called while defining a new graph or a tf.function")

    @tf.function
    def branching(x):
        def step(x):
            if x > 0.5:
                return x * 10.0
            return -x - 1.0

        return TWO.reduce("SUM", TWO.run(step, args=(x,)), axis=None)

    assert float(branching(TWO.run(number))) == 9


def check_errors():
    def failing():
        if int(number()) == 1:
            raise KeyError("mine")

    raises(KeyError, lambda: TWO.run(failing), "mine")
    ends = []

    def waiting():
        context = distribute.get_replica_context()
        try:
            with tf.GradientTape(), tf.name_scope("inside"):
                context.all_reduce("SUM", tf.constant(1.0))
                failing()
                context.all_reduce("SUM", tf.constant(1.0))
        finally:
            ends.append(int(context.replica_id_in_sync_group))

    raises(KeyError, lambda: TWO.run(waiting), "mine")
    assert ends == [1, 0] and not distribute.has_strategy() and tf.Variable(1.0).name == "Variable:0"

    def early():
        if int(number()) == 0:
            distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

    raises(RuntimeError, lambda: TWO.run(early), "a different number of replica_context().merge_call() calls", "replicas [1]")

    def interrupted():
        distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))
        signal.raise_signal(signal.SIGINT)

    raises(KeyboardInterrupt, lambda: TWO.run(interrupted))
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 4


def parts(count, size, rows, drop=False):
    strategy = distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)])
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(rows).batch(size, drop_remainder=drop))
    return [[x.numpy().tolist() for x in strategy.experimental_local_results(batch)] for batch in dataset], dataset


def check_datasets():
    assert parts(2, 4, 10)[0] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
    assert parts(2, 5, 10)[0] == [[[0, 1, 2], [3, 4]], [[5, 6, 7], [8, 9]]]
    assert parts(2, 4, 5)[0] == [[[0, 1], [2, 3]], [[4], []]] and parts(2, 4, 5, drop=True)[0] == [[[0, 1], [2, 3]]]
    assert parts(2, 1, 2)[0] == [[[0], []], [[1], []]]
    assert parts(3, 4, 10)[0] == [[[0, 1], [2, 3], []], [[4, 5], [6, 7], []], [[8], [9], []]]
    assert parts(4, 7, 16)[0][1:] == [[[7, 8], [9, 10], [11, 12], [13]], [[14], [15], [], []]]
    assert parts(4, 6, 10)[0] == [[[0, 1], [2, 3], [4, 5], []], [[6], [7], [8], [9]]]
    open_spec, spec = (f"TensorSpec(shape=({extent},), dtype=tf.int64, name=None)" for extent in ("None", 2))
    assert repr(parts(2, 4, 10)[1].element_spec) == f"PerReplicaSpec({open_spec}, {open_spec})"
    assert repr(parts(2, 4, 10, drop=True)[1].element_spec) == f"PerReplicaSpec({spec}, {spec})"
    unbatched = TWO.experimental_distribute_dataset(tf.data.Dataset.range(3))
    raises(ValueError, lambda: list(unbatched), "call `dataset.batch(global_batch_size)`")

    def pipeline(context):
        assert (context.num_input_pipelines, context.num_replicas_in_sync, context.get_per_replica_batch_size(8)) == (1, 2, 4)
        return tf.data.Dataset.range(5).batch(2)

    dataset = TWO.distribute_datasets_from_function(pipeline)
    assert [numbers(batch) for batch in dataset] == [[[0, 1], [2, 3]], [[4], []]] and int(dataset.cardinality) == 2
    iterator = iter(parts(2, 4, 5)[1])
    assert numbers(iterator.get_next_as_optional().get_value()) == [[0, 1], [2, 3]] and numbers(next(iterator)) == [[4], []]
    assert not iterator.get_next_as_optional().has_value()
    values = TWO.experimental_distribute_values_from_function(lambda context: tf.constant(context.replica_id_in_sync_group))
    assert numbers(TWO.run(lambda x: x * 2, args=(values,))) == [0, 2]


def check_datasets_in_functions():
    dataset = parts(2, 4, 10)[1]

    @tf.function(input_signature=[dataset.element_spec])
    def doubled(batch):
        return TWO.run(lambda x: x * 2, args=(batch,))

    assert [numbers(doubled(batch)) for batch in dataset] == [[[0, 2], [4, 6]], [[8, 10], [12, 14]], [[16], [18]]]

    @tf.function
    def following(iterator):
        return TWO.run(lambda x: x + 1, args=(next(iterator),))

    iterator = iter(dataset)
    assert [numbers(following(iterator)) for _ in range(3)] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9], [10]]]
    raises(tf.errors.OutOfRangeError, lambda: following(iterator), "End of sequence")

    @tf.function
    def total(dataset):
        found = tf.constant(0, tf.int64)
        for batch in dataset:
            found += TWO.reduce("SUM", TWO.run(tf.reduce_sum, args=(batch,)), axis=None)
        return found

    assert int(total(dataset)) == 45


def check_losses():
    def losses():
        each = tf.constant([1.0, 3.0])
        average = tf.nn.compute_average_loss
        return average(each), average(each, global_batch_size=8), tf.nn.scale_regularization_loss(each)

    assert [numbers(x) for x in TWO.run(losses)] == [[1, 1], [0.5, 0.5], [2, 2]]


def check_generators():
    """The numbers of TensorFlow's guide `random_numbers`."""
    shared = tf.random.Generator.from_seed(1)
    close(TWO.run(lambda: shared.normal([])), [0.43842274, 1.6272374])
    with TWO.scope():
        mine = tf.random.Generator.from_seed(1)
        close(mine.normal([]), [0.43842274])
        assert [x.numpy().tolist() for x in mine.state.values] == [[257, 0, 0], [257, 0, 0]]
        assert [round(float(x.normal([])), 5) for x in mine.split(2)] == [2.53641, 0.33186]
    close(TWO.run(lambda: mine.normal([])), [-0.3431945, -1.400983])
    close(mine.normal([]), [-0.79253083])
    with distribute.OneDeviceStrategy("CPU:2").scope() as one:
        assert round(float(one.run(tf.random.Generator.from_seed(1).normal, args=([],))), 6) == -0.879304
    tf.random.set_seed(1)
    close(TWO.run(lambda: tf.random.normal([])), [-1.1012203, 0.4030882])
    close(TWO.run(lambda: tf.random.normal([], seed=5)), [0.33694574, 0.33694574])
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(g=mine).write(f"{folder}/c")
        wanted = numbers(TWO.run(lambda: mine.normal([])))
        three = distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"])
        with three.scope():
            other = tf.random.Generator.from_seed(3)
        tf.train.Checkpoint(g=other).read(path)
        assert [float(x) for x in three.run(lambda: other.normal([])).values[:2]] == wanted


def check_a_saved_module_has_the_state_of_the_first_replica():
    class Draws(tf.Module):
        def __init__(self):
            self.generator = tf.random.Generator.from_seed(0)

        @tf.function
        def __call__(self):
            return self.generator.normal([])

    with TWO.scope(), tempfile.TemporaryDirectory() as folder:
        draws = Draws()
        close(TWO.run(draws), [-1.4154755, -0.11388441])
        tf.saved_model.save(draws, folder)
        close(TWO.run(draws), [-0.68758255, 0.8084062])
        loaded = tf.saved_model.load(folder)
    close(loaded(), [-1.0359411])
    close(loaded(), [-0.06425078])


def close(value, wanted):
    np.testing.assert_allclose(TWO.experimental_local_results(value), wanted, rtol=1e-5)


def check_results_across_replicas():
    pair = TWO.run(lambda: (number(), {"a": number() + 1}))
    assert [(float(a), float(b["a"])) for a, b in TWO.experimental_local_results(pair)] == [(0, 1), (1, 2)]
    assert TWO.experimental_local_results([1, 2]) == ([1, 2], [1, 2])

    def merged():
        context = distribute.get_replica_context()
        total = context.merge_call(lambda strategy, x: strategy.extended.reduce_to("SUM", x, x), args=(number() + 1,))
        return total, context.merge_call(lambda strategy, x: strategy.extended.reduce_to("SUM", x, x) * 2, args=(number() + 1,))

    total, doubled = TWO.run(merged)
    assert numbers(total) == [3, 3] and TWO.reduce("SUM", total, axis=None).numpy() == 6 and doubled.numpy() == 6
    v, w = made(0.0), made(0.0, synchronization=ON_READ, aggregation=SUM)
    for variable in (v, w):
        variable.assign(TWO.run(lambda: number() + 1))
        assert [x.numpy() for x in variable.values] == [1, 2]
    with TWO.scope():
        assert len(TWO.extended.update(v, lambda held: held.assign_add(1.0), group=False)) == 2
    assert [x.numpy() for x in v.values] == [2, 3] and TWO.extended.read_var(v).numpy() == 2
    assert numbers(TWO.extended.call_for_each_replica(number)) == [0, 1] and float(TWO.extended.broadcast_to(3.0, v)) == 3
    assert TWO.extended.variable_created_in_scope(v) and TWO.extended.non_slot_devices([v]) == TWO.extended.worker_devices


def check_random_numbers_around_a_function_that_runs_as_python():
    """The ops of a function that runs in each replica are numbered for all; one that a replica calls leaves nothing behind."""

    @tf.function
    def drawn(x):
        tf.unique(x)  # the shape of what it gives depends on values
        return tf.random.normal([])

    @tf.function
    def met(x):
        tf.unique(x)
        distribute.get_replica_context().merge_call(lambda strategy: None)
        return tf.random.normal([])

    x = tf.constant([1.0, 1.0])
    tf.random.set_seed(3)
    np.testing.assert_allclose(numbers(TWO.run(drawn, args=(x,))), [-1.8647180, -0.0235359], rtol=1e-5)
    TWO.run(lambda: met(x))
    tf.random.set_seed(3)
    assert tf.random.normal([]).numpy() == pytest.approx(-0.8296372)


def check_summaries_of_the_first_replica():
    with tempfile.TemporaryDirectory() as folder:
        writer = tf.summary.create_file_writer(folder)

        def written():
            with writer.as_default():
                return tf.summary.scalar("x", number() + 1, step=1)

        assert numbers(TWO.run(written)) == [True, False]
        writer.close()


def check_a_writer_is_the_default_of_its_replica_alone():
    """One that is open at a `merge_call`, in each replica, is closed after it."""
    with tempfile.TemporaryDirectory() as folder:
        writers, seen = [tf.summary.create_file_writer(f"{folder}/{i}") for i in range(3)], []

        def step():
            context = distribute.get_replica_context()
            own = writers[context.replica_id_in_sync_group]
            with own.as_default(step=context.replica_id_in_sync_group):
                context.merge_call(lambda strategy: None)
                seen.append((tf.summary.experimental.get_step(), state.writer is own))

        TWO.run(step)
        assert seen == [(0, True), (1, True)]
        assert state.writer is None and tf.summary.experimental.get_step() is None
        with writers[2].as_default(step=7):
            TWO.run(step)
            assert state.writer is writers[2] and tf.summary.experimental.get_step() == 7
        for writer in writers:
            writer.close()


OF_VALUES = """tape: sources|tape: watch and sources|tape: jacobian|tape: output_gradients|custom_gradient|recompute_grad
ForwardAccumulator: primals|stop_gradient|convert_to_tensor|tensor + x|x + variable|stack|keras.ops.add|np.asarray
nest.map_structure|Variable.assign|keras.Variable|vectorized_map|while_loop: captured|cond: results|py_function
function: argument"""


def check_what_functions_give_for_values_of_each_kind():
    """In each replica they give what TensorFlow gives for a tensor or variable without one; `tests/values` has the functions."""
    with TWO.scope():
        kinds = [
            tf.Variable([1.0, 2.0]),
            tf.keras.Variable([1.0, 2.0]),
            made([1.0, 2.0], synchronization=ON_READ, trainable=True),
        ]
    kinds.append(TWO.run(lambda: tf.constant([1.0, 2.0])))
    for name in OF_VALUES.replace("\n", "|").split("|"):
        there = [EXPECTED[f"eager {name}"][kind] for kind in ("tensor", "variable")]
        for x in kinds:
            here = TWO.run(lambda x, name=name: told(tf, FUNCTIONS[name][0](tf, x)), args=(x,))
            for given in TWO.experimental_local_results(here):
                assert any(agree(one, given) for one in there), (name, x, given, there)


def another(value):
    """A value that a field may have in place of this one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 7
        case str():
            return "other/"
        case list() | dict() | WeakKeyDictionary() | deque():
            return value.copy()
        case EnteredStrategy():
            return value._replace()
        case Trace():
            return Trace(value.limit)
    return object()


def check_a_replica_has_of_each_field_what_is_declared():
    """What the first replica sets, the second one reads only where the field is of the thread in which both run."""
    assert tf.keras.backend and tf.compat.v1.get_variable and tf.function(lambda x: x)(1.0) == 1.0  # which loads what declares
    held = [field for field in ambient.fields if field.get() is not ambient.ABSENT]
    assert len(held) > 40
    for field in held:
        before, seen = field.get(), []

        def step(field=field, seen=seen):
            context = distribute.get_replica_context()
            seen.append(own := field.get())
            if context.replica_id_in_sync_group == 0:
                own = another(own)
                seen.append(own)
                field.set(own)
            if field.per_replica:
                context.merge_call(lambda strategy: None)
                assert field.get() is own, field.name

        TWO.run(step)
        _, set_there, read = seen
        assert (read is set_there) is not field.per_replica, field.name
        assert field.get() is before or not field.per_replica, field.name
        field.set(before)


if __name__ == "__main__":
    report(globals())

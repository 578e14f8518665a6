"""Programs that draw random numbers, whose results in TensorFlow are known: `random_numbers.json`, beside this file.

`python -m tests.ops.random.random_cases` writes them where TensorFlow 2.21 is installed. A case is a function of the module,
`tf`, which gives tensors; the global seed is 5 before it.
"""

import json
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("random_numbers.json")
GLOBAL = 5
SEED = (1, 2)
LOGITS = np.log(np.float32([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0001]]))
FLOATS = ("float16", "float32", "float64")


def stateless(tf):
    """Name → case: the stateless functions."""
    random = tf.random
    for dtype in FLOATS:
        yield f"stateless uniform {dtype}", lambda d=dtype: random.stateless_uniform([7], SEED, dtype=d)
        yield f"stateless normal {dtype}", lambda d=dtype: random.stateless_normal([7], SEED, dtype=d)
        # 11 is in a group of which 3 blocks are looked at
        yield f"stateless truncated {dtype}", lambda d=dtype: random.stateless_truncated_normal([13], (3, 11), dtype=d)
    for dtype, shape, beta in (("float32", [9, 3], None), ("float64", [3, 2, 3], [[1.0], [2.0]])):
        draw = random.stateless_gamma
        yield f"stateless gamma {dtype}", lambda d=dtype, s=shape, b=beta, f=draw: f(s, SEED, [0.5, 3.0, 1.0], b, d)
    yield "stateless uniform bfloat16", lambda: tf.cast(random.stateless_uniform([5], SEED, dtype="bfloat16"), "float32")
    yield "stateless normal bfloat16", lambda: tf.cast(random.stateless_normal([5], SEED, dtype="bfloat16"), "float32")
    yield "stateless int32", lambda: random.stateless_uniform([5], SEED, -3, 1000, "int32")
    yield "stateless int64", lambda: random.stateless_uniform([5], SEED, -3, 10**12, "int64")
    for dtype in ("int32", "uint32", "int64", "uint64"):
        yield f"stateless all of {dtype}", lambda d=dtype: random.stateless_uniform([5], SEED, None, None, d)
    yield "stateless shuffle", lambda: [random.experimental.stateless_shuffle(tf.range(n), SEED) for n in (1, 2, 40)]
    yield "stateless categorical", lambda: random.stateless_categorical(LOGITS, 9, SEED)
    yield "categorical of infinite logits", lambda: random.stateless_categorical([[np.inf, 0.0, 1.0, -np.inf]], 9, SEED)
    rates = tf.constant([0.5, 9.0, 30.0, 1000.0])
    yield "stateless poisson", lambda: random.stateless_poisson([9, 4], SEED, rates)
    counts, probs = tf.constant([10.0, 5.0, 100.0, 1000.0]), tf.constant([0.5, 0.2, 0.7, 0.03])
    yield "stateless binomial", lambda: random.stateless_binomial([9, 4], SEED, counts, probs)
    yield "binomial, broadcast", lambda: random.stateless_binomial([3, 2, 4], SEED, counts, [[0.5], [0.9]])
    yield "split", lambda: [random.split(SEED, 3), random.split(tf.constant([1, 2], "int64"))]
    yield "fold_in", lambda: [random.fold_in(SEED, 7), random.fold_in(SEED, tf.constant(7, "int64"))]
    yield "stateless dropout", lambda: tf.nn.experimental.stateless_dropout(tf.ones([4, 3]), 0.3, SEED)
    yield (
        "initializers",
        lambda: [tf.random_normal_initializer(seed=3)([4]), tf.random_uniform_initializer(seed=3)([4])],
    )


def generators(tf):
    """Name → case: `tf.random.Generator`."""

    def draws():
        g = tf.random.Generator.from_seed(5)
        yield g.normal([3])
        yield g.truncated_normal([3])
        yield g.uniform([3], 1, 5, "int32")
        yield g.uniform_full_int([3])
        yield g.make_seeds(2)
        yield g.binomial([2, 3], [10.0, 5.0, 100.0], [0.5, 0.2, 0.7])
        yield g.state
        yield from [part.state for part in g.split(2)]
        yield g.state

    def carry():
        g = tf.random.Generator.from_state([-5, 7, 8], "philox")
        yield g.uniform([40])
        yield g.state

    yield "generator", lambda: list(draws())
    yield "generator whose counter runs over", lambda: list(carry())


def stateful(tf):
    """Name → case: functions that go on from draw to draw."""
    random = tf.random
    for dtype in FLOATS:
        for name in ("uniform", "normal", "truncated_normal")[: 2 if dtype == "float16" else 3]:
            function = getattr(random, name)
            yield (
                f"{name} {dtype}",
                lambda f=function, d=dtype: [f([3], dtype=d, seed=seed) for seed in (None, 4, None, 4, 4)],
            )
    yield (
        "seeds for each type and dtype",
        lambda: [
            random.uniform([3], seed=9),
            random.uniform([1], seed=9, dtype="float64"),
            random.uniform([3], -3, 100, "int32", seed=9),
            random.normal([2], seed=9),
            random.uniform([3], seed=9),
            random.uniform([3], -3, 100, "int64", seed=9),
            random.uniform([3], -3, 100, "int32", seed=9),
        ],
    )
    pictures = np.arange(24).reshape(3, 2, 2, 2)
    yield "flips", lambda: [tf.image.random_flip_up_down(x, seed=6) for x in (pictures, pictures, pictures[0], pictures[1])]
    yield "shuffle", lambda: [random.shuffle(tf.range(6), seed=3) for _ in range(3)] + [random.shuffle(tf.range(6))]
    yield "categorical", lambda: [random.categorical(LOGITS, n, seed=s) for n, s in ((5, None), (5, 1), (6, 1))]
    yield "gamma", lambda: [random.gamma([2], [0.5, 3.0], seed=s) for s in (None, 1, 1)]
    yield "poisson", lambda: [random.poisson([2], [0.5, 30.0], seed=s) for s in (None, 1, 1)]
    ones = tf.ones([6])
    yield "dropout", lambda: [tf.nn.dropout(ones, rate, seed=s) for rate, s in ((0.5, None), (0.3, 1), (0.3, 1))]
    yield "dropout of nothing", lambda: [tf.nn.dropout(ones, 0), random.uniform([1])]
    for seed in (2**70, -1, 1.5, np.int64(5), 0):
        yield f"the seed {seed} of an op", lambda s=seed: random.normal([2], seed=s)

        def after(seed=seed):
            random.set_seed(seed)
            return [random.normal([2]), random.normal([2], seed=0)]

        yield f"the global seed {seed}", after

    def without():
        random.set_seed(None)
        return random.normal([2], seed=3)

    yield "no global seed", without


def functions(tf):
    """Name → case: in functions, graphs, and passes over datasets."""
    random = tf.random

    @tf.function
    def draws():
        return random.uniform([1]), random.uniform([1], seed=1), random.normal([3])

    @tf.function
    def chooses(x):
        first = random.uniform([1])
        second = random.uniform([1]) if x > 0 else random.normal([1])
        return first, second, random.uniform([1])

    @tf.function
    def repeats():
        total = tf.zeros([2])
        for _ in tf.range(3):
            total += random.uniform([2]) + random.normal([2], seed=8)
        return total, random.uniform([1])

    def graph():
        with tf.Graph().as_default():
            tf.compat.v1.set_random_seed(1)
            fetches = random.uniform([1]), random.normal([1]), random.uniform([1], seed=1)
            with tf.compat.v1.Session() as session:
                values = [value for _ in range(2) for value in session.run(fetches)]
        return [tf.constant(value) for value in values]

    def dataset():
        ds = tf.data.Dataset.range(3).map(lambda i: (random.uniform([]), random.uniform([])))
        return [tf.stack(element) for _ in range(2) for element in ds]

    def orders():
        numbers = tf.data.Dataset.range(9)
        shuffled = [
            numbers.shuffle(4, seed=3),
            numbers.shuffle(4, seed=3, reshuffle_each_iteration=False),
            numbers.shuffle(100),
            numbers.repeat(2).shuffle(5, seed=0),
        ]
        return [tf.stack(list(ds)) for ds in shuffled for _ in range(2)]

    def samples():
        parts = [tf.data.Dataset.range(10 * i, 10 * i + 5) for i in range(3)]
        sampled = [
            tf.data.Dataset.sample_from_datasets(parts, [0.2, 0.5, 0.3]),
            tf.data.Dataset.sample_from_datasets(parts, [0.2, 0.0, 0.8], seed=4, rerandomize_each_iteration=True),
            tf.data.Dataset.random(seed=3).take(3),
        ]
        return [tf.stack(list(ds)) for ds in sampled for _ in range(2)]

    def sizes():  # one trace for all, or from the second size on
        def draw(x):
            return random.uniform([tf.size(x), 2])

        of_any = tf.function(draw, input_signature=[tf.TensorSpec([None])]), tf.function(draw, reduce_retracing=True)
        return [function(tf.zeros([size])) for function in of_any for size in (3, 1, 2, 1)]

    yield "function of any size", sizes
    yield "dataset order", orders
    yield "dataset sample", samples
    yield "function", lambda: [*draws(), *draws()]
    yield "branch", lambda: chooses(tf.constant(1))
    yield "loop", repeats
    yield "graph", graph
    yield "dataset", dataset


def cases(tf):
    """Name → case."""
    return {name: case for kind in (stateless, generators, stateful, functions) for name, case in kind(tf)}


def numbers_of(tf, case):
    """The results as `[dtype, value]` each."""
    tf.random.set_seed(GLOBAL)
    results = case()
    results = results if isinstance(results, (list, tuple)) else [results]
    return [[x.dtype.name, x.numpy().tolist()] for x in results]


if __name__ == "__main__":
    import tensorflow

    made = {name: numbers_of(tensorflow, case) for name, case in cases(tensorflow).items()}
    FILE.write_text("{\n" + ",\n".join([f"{json.dumps(name)}: {json.dumps(made[name])}" for name in made]) + "\n}\n")

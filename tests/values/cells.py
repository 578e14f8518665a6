"""A cell of the table: a function, a kind of value and a context. `outcome` runs one, on either library."""

import re

import numpy as np

from tests.values.functions import FUNCTIONS
from tests.values.kinds import GRAPH_ONLY, KINDS

SHORT = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
COMPOSITES = ("IndexedSlices", "RaggedTensor", "SparseTensor")


def eager(tf, function, make):
    return told(tf, function(tf, make(tf)))


def as_an_argument(tf, function, make):
    """A function gets the value: of arrays it makes tensors."""
    return told(tf, tf.function(lambda x: function(tf, x), autograph=False)(make(tf)))


def in_a_function(tf, function, make):
    """The function captures the value."""
    x = make(tf)
    return told(tf, tf.function(lambda: function(tf, x), autograph=False)())


def in_a_graph(tf, function, make):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        result = function(tf, make(tf))
        session.run(v1.global_variables_initializer())
        return told(tf, result, session.run)


def in_keras(tf, function, make):
    """In a function, as `fit` calls a layer."""
    x = make(tf)

    class Calls(tf.keras.layers.Layer):
        def call(self, unused):
            return function(tf, x)

    layer = Calls()
    return told(tf, tf.function(lambda: layer(tf.zeros([1])))())


CONTEXTS = {"eager": eager, "argument": as_an_argument, "function": in_a_function, "graph": in_a_graph, "keras": in_keras}
ROWS = [f"{context} {name}" for name, (_, contexts) in FUNCTIONS.items() for context in contexts]


class Raised(str):
    """The class of an error by its name; `caught` has those of all classes that an `except` may name for it."""

    def __new__(cls, kind):
        self = super().__new__(cls, kind.__name__)
        self.caught = {base.__name__ for base in kind.__mro__ if base not in (Exception, BaseException, object)}
        return self


def outcome(tf, row, kind):
    """What a cell gives: its results as text, or the class of the error that it is."""
    context, _, name = row.partition(" ")
    try:
        return CONTEXTS[context](tf, FUNCTIONS[name][0], KINDS[kind])
    except Exception as error:
        return Raised(type(error))


def kinds_of(row):
    return [kind for kind in KINDS if row.startswith("graph ") or kind not in GRAPH_ONLY]


def told(tf, result, run=None):
    """Results as text: each array by dtype, shape and values; composite ones by their class, and by their parts."""
    return "; ".join(one(tf, item, run) for item in tf.nest.flatten(result))


def one(tf, item, run):
    if isinstance(item, (str, bool, int, float, type(None))):
        return str(item)
    kind = type(item).__name__
    if isinstance(item, tf.data.Dataset):
        return f"Dataset {told(tf, list(item))}"
    if isinstance(item, tf.experimental.Optional):
        return f"Optional {told(tf, item.get_value())}"
    if isinstance(item, tf.data.Iterator):
        return "Iterator"
    if kind in COMPOSITES:
        return f"{kind} {', '.join(one(tf, part, run) for part in tf.nest.flatten(item, expand_composites=True))}"
    if not hasattr(item, "shape"):
        return kind
    if run is not None and not isinstance(item, (np.ndarray, np.generic)):
        item = run(item)
    array = np.asarray(item)
    if array.dtype == object and array.ndim == 0 and not isinstance(array.item(), (str, bytes)):
        return f"an object, {type(array.item()).__name__}"
    values = " ".join(
        x.decode() if isinstance(x, bytes) else f"{x:.7g}" if array.dtype.kind == "f" else str(x) for x in array.ravel()
    )
    return f"{SHORT.get(array.dtype.name, array.dtype.name)}{list(array.shape)} {values}".replace(", ", ",")


def agree(one, other):
    """Whether two texts are the same but for rounding, or an `except` of the one class of error catches the other."""
    if isinstance(other, Raised):
        return one in other.caught
    mine, others = re.split(r"[ ;,]+", one), re.split(r"[ ;,]+", other)
    return len(mine) == len(others) and all(a == b or near(a, b) for a, b in zip(mine, others, strict=True))


def near(a, b):
    try:
        return bool(np.isclose(float(a), float(b), rtol=1e-4, atol=1e-6, equal_nan=True))
    except ValueError:
        return False

"""Six ways to run a random program, and how their results are compared.

Results are a dict of NumPy arrays by name: the value, what the program keeps, the gradients to inputs and variables, the
variables afterwards. A way that raises gives the exception.
"""

import contextlib
import re
import textwrap

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.fuzz import unrolled
from tests.fuzz.control_programs import Program
from tests.fuzz.names import Ours, Theirs
from tests.fuzz.shrink import TRIES, shrink
from tests.fuzz.table import ROWS, tolerance

# Statements that need autograph, or an order of updates, which a graph by itself has not.
STAGED = re.compile(r"^ *(if|while|for) |\.assign", re.MULTILINE)

# What looks at numbers to know how to go on.
DECIDES = re.compile(r"^ *(if|elif|while|for) |tf\.(cond|while_loop)\(", re.MULTILINE)


def pauses(program):
    return "paused(" in program.source


def named(value, kept, gradients, variables):
    """The dict of results; gradients are those to two inputs and two variables."""
    results = {"value": value} | {f"kept {i}": x for i, x in enumerate(kept)}
    results |= {f"gradient to {name}": x for name, x in zip(("x0", "x1", "v0", "v1"), gradients, strict=True)}
    results |= {f"v{i} afterwards": x for i, x in enumerate(variables)}
    return {name: array_of(x) for name, x in results.items() if x is not None}


def array_of(x):
    return np.asarray(tf.convert_to_tensor(x) if isinstance(x, tf.Variable | tf.IndexedSlices) else x)


def taped(program, wrapped=lambda made: made, inside=False):
    """Under a tape, or the program with its tape as one function."""
    ours = Ours()
    inputs = [tf.constant(x) for x in program.inputs]
    variables = [tf.Variable(x) for x in program.variables]
    made = program.made(variables=variables, **ours.names)
    step = wrapped(stepping(ours, made, variables)) if inside else stepping(ours, wrapped(made), variables)
    return named(*step(*inputs), variables)


def stepping(ours, made, variables):
    """The function of the inputs that gives value, what is kept and gradients, by a tape."""

    def step(*inputs):
        with tf.GradientTape() as ours.tape:
            ours.tape.watch(inputs)
            value, kept = made(*inputs)
        return value, kept, ours.tape.gradient(value, [*inputs, *variables], unconnected_gradients="zero")

    return step


def recorded(program):
    return taped(program)


def compiled(program):
    """Recorded and compiled at first sight; by itself a first run is NumPy's."""
    tf.config.compile_early()
    try:
        return taped(program)
    finally:
        tf.config.compile_early(False)


def op_by_op(program):
    with run_eagerly():
        return taped(program)


@contextlib.contextmanager
def run_eagerly():
    """Nothing is compiled as a whole: loops and branches of functions run on the host."""
    tf.config.run_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_eagerly(False)


def function(program):
    inside = pauses(program) or len(program.source) % 2 == 0
    return taped(program, tf.function, inside)


def graph(program):
    """A session's run of the program and its gradients; as a function where it has statements for autograph."""
    v1 = tf.compat.v1
    ours = Ours()
    with v1.Graph().as_default():
        inputs = [v1.placeholder(tf.float64, x.shape) for x in program.inputs]
        variables = [v1.get_variable(f"v{i}", initializer=x, use_resource=True) for i, x in enumerate(program.variables)]
        made = program.made(variables=variables, **ours.names)
        if pauses(program):
            value, kept, gradients = tf.function(stepping(ours, made, variables))(*inputs)
        else:
            made = tf.function(made) if STAGED.search(program.source) else made
            value, kept = made(*inputs)
            gradients = v1.gradients(value, [*inputs, *variables], unconnected_gradients="zero")
        fetches = [value, kept, [tf.convert_to_tensor(d) for d in gradients]]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            value, kept, gradients = session.run(fetches, dict(zip(inputs, program.inputs, strict=True)))
            return named(value, kept, gradients, session.run(variables))


@jax.enable_x64(True)
def by_jax(program):
    """JAX in plain Python: loops unroll, branches are taken, functions are called."""
    arrays = [jnp.asarray(x) for x in (*program.inputs, *program.variables)]
    return named(*_results_of_jax(program, arrays))


def _results_of_jax(program, arrays):
    def value(arrays):
        variables = [unrolled.Variable(p) for p in arrays[2:]]
        result, kept = program.made(variables=variables, **Theirs().names)(*arrays[:2])
        return result, (kept, [v.held for v in variables])

    with jax.numpy_dtype_promotion("standard"):
        (result, (kept, variables)), gradients = jax.value_and_grad(value, has_aux=True)(arrays)
    return result, kept, gradients, variables


@jax.enable_x64(True)
def by_jax_at_once(programs):
    """The results of programs, or the exceptions; one JAX program of those that go the same way whatever the numbers are."""
    found = {}

    def every(arrays):
        results = {}
        for i, of in arrays.items():
            try:
                results[i] = _results_of_jax(programs[i], of)
            except Exception:
                continue  # it is run by itself
        return results

    straight = [i for i, program in enumerate(programs) if not DECIDES.search(program.source)]
    with np.errstate(all="ignore"):
        try:
            made = jax.jit(every)({i: [jnp.asarray(x) for x in (*programs[i].inputs, *programs[i].variables)] for i in straight})
        except jax.errors.JaxRuntimeError:  # a reference that runs on the host raised: each by itself
            made = {}
        for i, program in enumerate(programs):
            found[i] = named(*made[i]) if i in made else run(program, ("JAX",))["JAX"]
    return [found[i] for i in range(len(programs))]


WAYS = {"recorded": recorded, "compiled": compiled, "op by op": op_by_op, "function": function, "graph": graph, "JAX": by_jax}


def run(program, ways=tuple(WAYS)):
    """The results of each way, or the exception that it raised."""
    found = {}
    for name in ways:
        try:
            with np.errstate(all="ignore"):
                found[name] = WAYS[name](program)
        except Exception as error:
            found[name] = error
    return found


def differences(program, found):
    """What does not agree with the first way, as `(way, result, text)`; where all raise, there is none."""
    (first, expected), *rest = found.items()
    close, told = tolerance(program.source), []
    if all(isinstance(got, Exception) for got in found.values()):
        return []
    for way, got in rest:
        failed = got if isinstance(got, Exception) else expected
        if isinstance(failed, Exception):
            what = f"{type(failed).__name__}: {str(failed).splitlines()[0][:200] if str(failed) else ''}"
            told.append((way if failed is got else first, f"raises {type(failed).__name__}", what))
            continue
        for name in expected:
            if name not in got and way == "JAX":
                continue
            if way == "JAX" and name.startswith("gradient") and not differentiable(program):
                continue
            if text := unlike(got[name], expected[name], close):
                told.append((way, name, f"{way}, {name}: {text} ({first})"))
    return told


def unlike(received, expected, close):
    """How two arrays differ, or an empty text. NaN and infinities are to be at the same places."""
    if received.shape != expected.shape:
        return f"shape {received.shape}, not {expected.shape}"
    kind = "complex128" if "c" in (received.dtype.kind, expected.dtype.kind) else "float64"
    received, expected = received.astype(kind), expected.astype(kind)
    finite = np.isfinite(expected)
    size = np.max(np.abs(expected[finite]), initial=1e-2)
    with np.errstate(all="ignore"):
        near = np.abs(received - expected) <= close * size
        same = np.where(finite, near, (received == expected) | (np.isnan(received) & np.isnan(expected)))
    return "" if same.all() else f"{received.tolist()}, not {expected.tolist()}"


def differentiable(program):
    """Whether JAX can: some references run on the host."""
    return all(row.oracle or row.order < 1 for name, row in ROWS.items() if f'"{name}"' in program.source)


def reduced(program, told, tries=TRIES):
    """The smallest program that still has the first of these differences, as text to be pasted into a file and run."""
    way, what, _ = told[0]
    pair = ("recorded", way) if way != "recorded" else ("recorded", "JAX")

    def fails(candidate):
        return any(d[:2] == (way, what) for d in differences(candidate, run(candidate, pair)))

    return script(shrink(program, fails, tries))


def script(program):
    """A program as a file of Python that prints where the ways differ."""
    arrays = [f"{[x.tolist() for x in arrays]}" for arrays in (program.inputs, program.variables)]
    indented = program.source.rstrip().replace("\n", "\n    ")
    return f'from tests.fuzz.ways import show\n\nshow("""\\\n    {indented}\n""", {arrays[0]}, {arrays[1]})\n'


def show(source, inputs, variables):
    """Print the results of each way, and the differences."""
    program = Program(textwrap.dedent(source), [np.array(x) for x in inputs], [np.array(x) for x in variables])
    found = run(program)
    for way, results in found.items():
        print(f"{way}: {results!r}")
    for *_, text in differences(program, found):
        print(text)

"""The code of a value that left the library, with advice to keep it in tensors."""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING

from gradtape._src.control.host import EAGER_PY_FUNC, PY_FUNC
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Left
from gradtape._src.core.programs.op import Op, ops
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.callers import functions_of, scope_of
from gradtape._src.explain.codes.ops import NotDifferentiable
from gradtape._src.explain.evidence import Evidence, OfOp, Said, Span, of_no_way, of_steps, of_zeros
from gradtape._src.explain.history import Name, Step
from gradtape._src.explain.syntax import mentioned, named_in, within
from gradtape._src.explain.varied import Tried
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View

# Functions of other libraries, and their counterparts in TensorFlow.
FOREIGN = {
    "cdist": "tf.norm(a[:, None] - b[None], axis=-1)", "pdist": "tf.norm(a[:, None] - a[None], axis=-1)",
    "gaussian_filter": "tf.nn.depthwise_conv2d with a Gaussian kernel", "convolve": "tf.nn.convolution",
    "convolve2d": "tf.nn.conv2d", "zoom": "tf.image.resize", "resize": "tf.image.resize", "imresize": "tf.image.resize",
    "cvtColor": "tf.image.rgb_to_grayscale, or tf.image.rgb_to_hsv",
    "GaussianBlur": "tf.nn.depthwise_conv2d with a Gaussian kernel",
    "softmax": "tf.nn.softmax", "log_softmax": "tf.nn.log_softmax", "expit": "tf.sigmoid", "logsumexp": "tf.reduce_logsumexp",
    "erf": "tf.math.erf", "erfc": "tf.math.erfc", "gammaln": "tf.math.lgamma", "loggamma": "tf.math.lgamma",
    "digamma": "tf.math.digamma", "psi": "tf.math.digamma", "xlogy": "tf.math.xlogy", "ndtri": "tf.math.ndtri",
    "expm": "tf.linalg.expm", "sqrtm": "tf.linalg.sqrtm", "logm": "tf.linalg.logm", "solve": "tf.linalg.solve",
    "cosine_similarity": "tf.matmul of the rows after tf.math.l2_normalize", "euclidean": "tf.norm(a - b)",
    "mean_squared_error": "tf.reduce_mean((a - b) ** 2)", "log_loss": "tf.keras.losses.binary_crossentropy",
    "roc_auc_score": "a loss of Keras's, as a ranking has no derivative", "accuracy_score": "a cross entropy of Keras's",
    "f1_score": "a soft count, with the probabilities in the place of labels", "rolling": "tf.nn.avg_pool1d",
    "average": "`tf.tensordot(weights, values, 1) / tf.reduce_sum(weights)`",
    "median": "an element of `tf.sort(x)`", "percentile": "an element of `tf.sort(x)`", "quantile": "an element of `tf.sort(x)`",
    "normal": "`mean + deviation * tf.random.normal(shape)`",
    "uniform": "`low + (high - low) * tf.random.uniform(shape)`",
}  # fmt: skip

WAYS = {
    "numpy": ".numpy()", "__array__": "NumPy", "dlpack": "DLPack", "jax": "JAX", "numpy_function": "tf.numpy_function",
    "float": "float()", "int": "int()", "complex": "complex()", "dataset": "a Dataset", "py_function": "tf.py_function",
}  # fmt: skip

FEW = 6  # later uses of an array in an advice


class LeftLibrary(OfOp):
    """`how` names the exit: a function of Python or NumPy, or a library."""

    code, named = "left_library", "the exit"
    when = "the value left the library; through NumPy, `float()`, a Dataset or another library"
    how: str

    def said(self, w: Words) -> Said:
        written = text.text(self.line) or ""
        way = "NumPy" if self.how == "float" and re.search(r"\bnp\.(?!.*\bfloat\()", written) else WAYS[self.how]
        cause = f"in {self.written} the value left the library through {way}, and what came back is a constant"
        if ".to_list()" in written:
            cause = cause.replace(".numpy()", ".to_list()")
        itself, place = _called_itself(self)
        fix = _advice(self, itself)
        if self.early:  # code that must also move cannot be pasted as it is
            return Said(cause, f"{fix}, and let it run under the tape: what ran before is a constant", whole=False)
        return Said(cause, fix, place if fix == itself else None)


@of_zeros(100)
def _through_python(tried: Tried) -> Evidence | None:
    """Find a Python function, or the exit inside of it if the line names the function."""
    if tried.entry.node.op is not EAGER_PY_FUNC:
        return None
    line = tried.at[0]
    given = mentioned(text.statement(line))
    exits = [e for e in list(journal.exits) if e.line[0] is not None and e.line[0].co_name in given and e.how in WAYS]
    return LeftLibrary(exits[-1].line, how=exits[-1].how) if exits else LeftLibrary(*tried.at, how="py_function")


@of_steps(30)
def _through_numpy(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    return LeftLibrary(step.line, op.type, step, how="numpy_function") if op is PY_FUNC else None


def at_exit(left: Left, early: bool = False) -> Evidence:
    """Return the break at an exit; an op that writes bytes is blamed itself."""
    if left.how in ops:
        return NotDifferentiable(left.line, left.how, reason=ops[left.how].reason)
    return LeftLibrary(left.line, how=left.how, early=early)


@of_no_way(30)
def _left(case: Apart) -> Evidence | None:
    return None if case.left is None else at_exit(case.left)


def _advice(b: LeftLibrary, itself: str | None) -> str:
    """Return the replacement code or advice; `itself` is the advice for a model's `predict`."""
    how = b.how
    written = text.text(b.line) or ""
    if ".to_list()" in written:
        rows = "x" if (found := re.search(r"([\w.]+)\.to_list\(\)", written)) is None else found[1]
        return f"try a function of TensorFlow's that takes ragged rows, such as tf.reduce_mean({rows}, 1)"
    if re.search(r"\b(?:FloatList|dumps?|save\w*|tobytes|tofile|write\w*)\(", written):
        return "go on with the tensor itself, and keep what is written beside it"
    if how == "dataset" and (mapped := _mapped(b)) is not None:
        method, function = mapped
        return f"leave out the Dataset's `{method}`, and call `{function}` under the tape, on what the Dataset gives"
    weights = re.search(r"([\w.]+)\.get_weights\(\)", written)
    if weights is not None:
        return f"use the variables themselves: `{weights[1]}.trainable_variables`"
    if re.search(r"\.(?:evaluate|train_on_batch|test_on_batch|fit)\(", written):
        return "call the model under the tape, and a loss of Keras's on what it gives: `loss_fn(y, model(x))`"
    if itself is not None:
        return itself
    tensors = rewritten.with_tensors(b.line) if how in ("numpy", "__array__", "float") and not _filled(b) else None
    if tensors is not None:
        same = re.fullmatch(r"([\w.]+) = \1", tensors)
        listed = ", and collect tensors in a list and join them, `tf.stack(values)`, where an array is filled"
        filled = listed if re.match(r"\w+\[.*?\] = ", tensors) else ""
        return (f"leave out `{written}`" if same else f"write `{tensors}`") + _below(b) + filled
    foreign = _foreign(b) if how in ("numpy", "__array__", "float") else None
    if foreign is not None:
        return foreign
    called = re.search(r"\b(?:n(?:p|umpy)\.(?!random\b)|math\.)([\w.]+)\(", written)
    if called is not None and how not in ("numpy_function", "py_function"):
        counterpart = rewritten.NUMPY.get(called[1])
        use = f"tf.{counterpart}" if counterpart else "the tf.* function that computes the same"
        return f"try {use} in the place of {called[0]}…), with the tensor itself and without `.numpy()`"
    if re.search(r"\]\s*=[^=]", written) and how in ("float", "__array__"):
        return "collect the tensors in a list and join them, `tf.stack(values)`, in the place of an array that is filled"
    instead = {way: f"try to leave out `{WAYS[way]}` and to go on with the tensor" for way in ("numpy", "float", "complex")} | {
        "int": "an integer has no derivative: go on with the tensor where its value counts; where it says which elements are "
        "taken, interpolate between them (for images tf.image.crop_and_resize)",
        "jax": "lift the JAX function onto the tape with tf.jax_function",
        "dataset": "go on with the tensor, in slices such as `x[i : i + n]`, and leave the Dataset to what needs no gradient",
        "py_function": "try to write the function with the tf.* counterparts of its NumPy calls: through these it has a gradient",
        "numpy_function": "try to write the function with the tf.* counterparts of its NumPy calls, and call it directly",
    }
    written_so = how != "float" or "float(" in written  # otherwise another function converts the tensor to a number
    return instead.get(how if written_so else "", "try to compute this with tf.* functions, from the tensor itself")


def _below(b: Evidence) -> str:
    """Return the words about later uses of an array that becomes a tensor."""
    uses = rewritten.array_uses(b.line, scope_of(b.line) or ast.Module([], []))
    if uses is None:
        return ", and try tf.* functions of it in what follows"
    uses = uses[:FEW]
    return "".join([f"{', and below' if k == 0 else ','} `{now}` for `{before}`" for k, (before, now) in enumerate(uses)])


def _called_itself(b: Evidence) -> tuple[str | None, Span | None]:
    """Return the advice to call a model instead of its `predict`, and the span of that call; None for other lines."""
    predicted = re.search(r"([\w.]+)\.(predict(?:_on_batch)?)\(", text.text(b.line) or "")
    if predicted is None:
        return None, None
    call, given = rewritten.argument_of(predicted[2], b.line) or (None, "x")
    itself = f"call the model itself: `{predicted[1]}({given.partition(', ')[0]})`"
    return itself, None if call is None else text.span(call)


def _filled(b: Evidence) -> bool:
    """Return whether entries of the line's result are assigned later, which arrays allow and tensors do not."""
    entries = [n.value for n in within(scope_of(b.line), ast.Subscript) if isinstance(n.ctx, ast.Store)]
    return text.target(b.line) in [*map(ast.unparse, entries)]


def _mapped(b: Evidence) -> tuple[str, str] | None:
    """Return the name of a Dataset's method that a line calls, and the function passed to it; None for other lines."""
    for call in within(text.statement(b.line), ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr="map" as way), args=[function, *_]):
                return way, ast.unparse(function)
            case ast.Call(func=ast.Attribute(attr="reduce" | "scan" as way), args=[_, function]):
                return way, ast.unparse(function)
    return None


def _foreign(b: Evidence) -> str | None:
    """Return the advice for a function of another library that takes the value; None if the line calls none."""
    try:
        tree = ast.parse(text.text(b.line) or "")
    except SyntaxError:  # the line is only part of a statement
        return None
    own, whole = functions_of(b.line), text.tree(text.file(b.line))
    functions = [n.func for n in within(tree, ast.Call)]
    for called in map(ast.unparse, functions):
        name = called.rpartition(".")[2]
        if name in FOREIGN and name not in own and not called.startswith("tf."):
            return f"try {FOREIGN[name]} in the place of `{called}`, with the tensor itself"
        if any("np" in mentioned(body) for body in own.get(name, ())):
            return f"give `{called}` the tensor itself, and write it with tf.* functions in the place of NumPy's"
    known = {*own, *dir(builtins), *[n.name for n in within(whole, ast.ClassDef)], *named_in(whole, ast.Store)}
    other = next((f.id for f in functions if isinstance(f, ast.Name) and f.id not in known), None)
    return other and f"try what computes the same as `{other}` with tf.* functions, or wrap it in tf.custom_gradient"

"""The rows of the op table that random programs draw from, how close results must be, and where JAX differs by definition."""

import dis

from tests.ops.rows import ROWS as EVERY

# Rows that cannot stand in a random program, by the beginnings of their names.
LEFT_OUT = {
    "random-": "what is drawn depends on how many ops were made before, as in TensorFlow",
    "candidates-": "they draw, too",
    "dropout-": "they draw, too",
    "isotonic-ctc_greedy_decoder": "its reference is numbers, too",
    "isotonic-ctc_beam_search_decoder": "which paths there are depends on rounding where two are equally likely",
    "matrix_functions-matrix_rank": "a count, which jumps where a value near to a limit is rounded otherwise",
    "counting-histogram": "the same",
    "scatter-": "they make a variable at each call, which a function may not; programs assign to their own",
    "indexing-assign": "the same",
    "image_detection-": "their references are numbers, for the row's own arguments",
    "sparse-embedding_lookup_sparse": "the same",
    "sparse-safe_embedding_lookup_sparse": "the same",
    "compare-saturate_cast to": "its reference is NumPy's cast, which refuses NaN",
    "select-unique, of floats": "rounding decides which are equal",
    "decompositions-eigvals": "rounding decides the order",
    "indexing-iteration": "a tensor of unknown extents cannot be iterated in a graph, as in TensorFlow",
    "arithmetic-polyval of nothing": "its reference is for one shape",
}


def _is_numbers(reference):
    """Whether a reference does not look at its arguments: it is numbers, for the row's own."""
    code = getattr(reference, "__code__", None)
    return code is not None and not any(
        step.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) for step in dis.get_instructions(code)
    )


def _usable(name, row):
    return not name.startswith(tuple(LEFT_OUT)) and not _is_numbers(row.reference)


ROWS = {name: row for name, row in EVERY.items() if _usable(name, row)}
USABLE = list(ROWS)

# Rows whose gradient may be a value of the program, and is differentiated again.
SMOOTH = {name for name, row in ROWS.items() if row.order >= 2 and row.oracle and row.differentiated}

FAMILIES = ("activation-", "arithmetic-", "elementary-", "special-", "clip-", "compare-")
SHAPES = ((2, 3), (3,), ())
# Rows of these families that take such arguments, and are not element-wise or not real.
OTHERS = (
    "activation-crelu",
    "arithmetic-accumulate_n",
    "clip-clip_by_norm",
    "clip-global_norm",
    "clip-clip_by_global_norm",
    "compare-bitcast",
    "compare-cast to complex",
    "compare-complex",
    # The references of these run on the host, for one shape.
    "compare-cast through ints",
    "compare-equal",
    "compare-greater",
    "compare-is_",
    "compare-less",
    "compare-not_equal",
    "compare-saturate_cast bfloat16",
    "compare-saturate_cast to complex",
    "special-betainc of scalars",
    "special-igamma to a",  # JAX does not differentiate it twice
    "special-lbeta",
)


def _elementwise(name, row):
    """Whether a row may be called on tensors of any one shape."""
    real = row.args and all(array.dtype.kind == "f" and array.shape in SHAPES for array in row.args)
    return real and row.oracle and name.startswith(FAMILIES) and not name.startswith(OTHERS)


ELEMENTWISE = [name for name, row in ROWS.items() if _elementwise(name, row)]

# Element-wise rows for which NaN, infinities, zeros and ties give something else on JAX than in TensorFlow, whose numbers
# the op table holds. Our own ways are compared with each other there.
BY_DEFINITION = {
    "relu, relu6, elu, selu, softsign and their gradients at 0, infinities and NaN": (
        "activation-relu", "activation-Relu", "activation-elu", "activation-Elu", "activation-selu", "activation-Selu",
        "activation-softsign",
    ),
    "the references divide and multiply as they do, by zero too": (
        "arithmetic-multiply_no_nan", "arithmetic-divide_no_nan", "arithmetic-reciprocal_no_nan",
    ),
    "a remainder by infinity is the dividend": ("arithmetic-floormod", "arithmetic-truncatemod"),
    "the references of gradients of reciprocals and roots are formulas that are not defined at 0 and infinity": (
        "arithmetic-reciprocal gradient", "arithmetic-rsqrt gradient",
    ),
    "the slope of |x| at 0": ("arithmetic-abs",),
    "the gradient of a maximum goes to the first of two that are equal": (
        "arithmetic-maximum", "arithmetic-minimum", "clip-clip_by_value",
    ),
    "a cast of what the integer type cannot hold": ("compare-cast", "compare-saturate_cast"),
    "outside of where it is defined": ("elementary-acosh", "elementary-pow", "special-ndtri", "special-igamma"),
    "the slope at 0 of a product that is 0 there": ("special-xlog1py", "special-xlogy", "special-xdivy"),
    "the slope at infinity": ("special-digamma",),
    "a result that half precision cannot hold": ("elementary-expm1",),
}  # fmt: skip
CONVENTIONS = tuple([name for names in BY_DEFINITION.values() for name in names])

# Relative to the largest element of a result; JAX computes at full precision. Calls near to a row's own arguments are well
# conditioned, so nothing is to be said of single rows.
TOLERANCE = {"bfloat16": 1e-1, "float16": 3e-2, "float32": 1e-4, "complex64": 1e-4}
EXACT = 1e-7
SINGLE = ("image_resize-",)  # computed in float32, whatever the dtype is


def tolerance(source):
    """That of the widest dtype in a program."""
    named = [value for name, value in TOLERANCE.items() if f'"{name}"' in source]
    single = [TOLERANCE["float32"] for name in SINGLE if f'"{name}' in source]
    return max([EXACT, *named, *single])

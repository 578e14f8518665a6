"""TensorFlow's signatures, name by name: the same parameters in the same order, the same defaults.

`tensorflow.json` was recorded from TensorFlow 2.21 (see `record.py`). gradtape may add parameters behind TensorFlow's.
`missing.txt` lists the names that gradtape does not have yet; `python tests/signatures/test_signatures.py` writes it.
"""

import ast
import inspect
import json
import pickle
from pathlib import Path

import pytest

import gradtape as tf

FOLDER = Path(__file__).parent
TENSORFLOW = json.loads((FOLDER / "tensorflow.json").read_text())
MISSING = FOLDER / "missing.txt"
NOT_COMPARED = "<"  # objects without a written form


def resolve(name):
    """The object that gradtape offers under the dotted `name`, or `None`."""
    found = tf
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def signature(function):
    """The parameters of `function`, without `self`."""
    target = function.__init__ if inspect.isclass(function) else function
    return [row for row in inspect.signature(target).parameters.values() if row.name not in ("self", "cls")]


def starred(parameter):
    return {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + parameter.name


def same_default(expected, default):
    """Whether `default` is the value that TensorFlow wrote as `expected`."""
    try:
        value = ast.literal_eval(expected)
    except (ValueError, SyntaxError):
        return expected.startswith(NOT_COMPARED) or repr(default) == expected
    if value is None or isinstance(value, bool):
        return default is value
    if isinstance(value, (list, tuple)):
        return list(default) == list(value)
    return default == value


PRESENT = {name: row for name, row in TENSORFLOW.items() if resolve(name) is not None}
ABSENT = [name for name in TENSORFLOW if name not in PRESENT]


def test_missing_names_are_listed():
    """`missing.txt` is exactly what TensorFlow has on the surface and gradtape does not."""
    listed = MISSING.read_text().split()
    gained, lost = sorted(set(listed) - set(ABSENT)), sorted(set(ABSENT) - set(listed))
    assert listed == ABSENT, f"take out of {MISSING.name}: {gained}; lost since it was written: {lost}"


@pytest.mark.parametrize("name", PRESENT)
def test_parameters_are_tensorflows(name):
    expected = [parameter for parameter, _ in PRESENT[name] if not parameter.startswith("**")]
    received = [starred(parameter) for parameter in signature(resolve(name))]
    assert received[: len(expected)] == expected


def test_argument_specs_are_tensorflows(count):
    """What `inspect.getfullargspec` says, which follows no wrappers."""
    for name, row in PRESENT.items():
        found = resolve(name)
        spec = inspect.getfullargspec(found.__init__ if inspect.isclass(found) else found)
        expected = [parameter for parameter, _ in row if not parameter.startswith("*")]
        received = [parameter for parameter in [*spec.args, *spec.kwonlyargs] if parameter not in ("self", "cls")]
        assert received[: len(expected)] == expected, name
        assert (spec.varargs is not None) == any(parameter.startswith("*") and parameter[1] != "*" for parameter, _ in row), name
    count("public functions whose argument specs were compared", len(PRESENT))


def test_the_argument_spec_of_rank():
    assert inspect.getfullargspec(tf.rank)[:4] == (["input", "name"], None, None, (None,))
    assert inspect.signature(tf.rank) == inspect.signature(tf.rank).replace()
    assert pickle.loads(pickle.dumps(inspect.signature(tf.rank))) == inspect.signature(tf.rank)
    arguments = inspect.signature(tf.rank).replace(return_annotation=inspect.Signature.empty)
    assert str(arguments) == "(input, name=None)"


def test_functions_are_called_by_their_names():
    """Python says a function's name where an argument is missing: the name by which it is public, not that of our source."""
    names = {}
    for name in PRESENT:
        if inspect.isfunction(found := resolve(name)):
            names.setdefault(found, set()).add(name.rpartition(".")[2])
    assert {found.__name__: known for found, known in names.items() if found.__name__ not in known} == {}
    with pytest.raises(TypeError, match=r"^range\(\) got an unexpected keyword argument 'stop'"):
        tf.range(start=0, stop=5)


@pytest.mark.parametrize("name", PRESENT)
def test_defaults_are_tensorflows(name):
    received = {starred(parameter): parameter.default for parameter in signature(resolve(name))}
    for parameter, expected in PRESENT[name]:
        if parameter.startswith("*") or parameter not in received:
            continue
        default = received[parameter]
        if expected is None:
            assert default is inspect.Parameter.empty, f"`{parameter}` has a default, {default!r}, and TensorFlow's has none"
        else:
            assert default is not inspect.Parameter.empty, f"`{parameter}` has no default; TensorFlow's is {expected}"
            assert same_default(expected, default), f"`{parameter}` is {default!r} by default; TensorFlow's is {expected}"


@pytest.mark.parametrize("name", PRESENT)
def test_additions_are_optional(name):
    """A parameter that TensorFlow does not have needs a default, so that TensorFlow's calls go through."""
    known = {parameter for parameter, _ in PRESENT[name]}
    for parameter in signature(resolve(name)):
        if starred(parameter) not in known and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            assert parameter.default is not inspect.Parameter.empty, f"`{parameter.name}` has no default"


@pytest.mark.parametrize(
    ("expected", "default", "same"),
    [
        ("None", None, True),
        ("None", 0, False),
        ("False", False, True),
        ("False", 0, False),
        ("1e-07", 1e-7, True),
        ("'SAME'", "VALID", False),
        ("tf.float32", tf.float32, True),
        ("tf.float32", tf.float64, False),
        ("<UnconnectedGradients.NONE: 'none'>", tf.UnconnectedGradients.NONE, True),
    ],
)
def test_same_default_tells_apart(expected, default, same):
    assert same_default(expected, default) is same


if __name__ == "__main__":
    MISSING.write_text("\n".join(ABSENT) + "\n")

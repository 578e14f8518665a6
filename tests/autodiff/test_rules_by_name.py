"""A gradient rule of the library's own names what it reads, as its kernel does."""

from types import SimpleNamespace

import pytest

import gradtape as tf
from gradtape._src.core.declarations.define import _by_operation
from gradtape._src.core.programs.op import ops

OPERATION = SimpleNamespace(
    inputs=("first", "second", "third"),
    outputs=("result", "other"),
    needed=(True, False, True),
    get_attr=lambda name: f"the {name}",
)
POW, CONCAT, SLICE, SORT = [ops[type] for type in ("Pow", "ConcatV2", "StridedSlice", "Sort")]


@pytest.mark.parametrize(
    ("of", "rule", "cotangents", "expected"),
    [
        (POW, lambda dz, y, x: (dz, y, x), ["d"], ("d", "second", "first")),
        (POW, lambda dz, needs_y, z: (dz, needs_y, z), ["d"], ("d", False, "result")),
        (POW, lambda dz, *, exponent: (dz, exponent), ["d"], ("d", "the exponent")),
        (POW, lambda dz, **attributes: attributes, ["d"], {"exponent": "the exponent"}),
        (POW, lambda dz, op: op, ["d"], OPERATION),
        (POW, lambda op, dz: (op, dz), ["d"], (OPERATION, "d")),
        (CONCAT, lambda dy, values, needs_values, *, axis: (values, needs_values, axis), ["d"],
         (OPERATION.inputs, OPERATION.needed, "the axis")),
        (SLICE, lambda dy, input, begin, *, axes, **others: (input, begin, axes, [*others]), ["d"],
         ("first", ("second", "third"), "the axes", ["sizes", "strides", "shape"])),
        (SORT, lambda dy, dplaces, places, y: (dy, dplaces, places, y), ["d", None], ("d", None, "other", "result")),
        (SORT, lambda _, dplaces=None, *, values: (_, dplaces, values), ["d"], ("d", None, "first")),
        (SORT, lambda *dy, values: (dy, values), ["d", "e"], (("d", "e"), "first")),
    ],
)  # fmt: skip
def test_what_a_rule_is_given(of, rule, cotangents, expected):
    assert _by_operation(of, rule)(OPERATION, *cotangents) == expected


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda dz, exponents: 0, "exponents"),
        (lambda x, dz: 0, "x"),
        (lambda dz, x, dw: 0, "dw"),
        (lambda dz, needs_z: 0, "needs_z"),
        (lambda dz, outputs: 0, "outputs"),
        (lambda dz, *others: 0, "others"),
    ],
)
def test_a_name_that_the_kernel_does_not_have(rule, name):
    with pytest.raises(
        TypeError, match=rf"gradient of Pow reads '{name}'. First come cotangents, `dy`, then any of x, y, exponent"
    ):
        _by_operation(POW, rule)


def test_it_is_called_by_users_as_tensorflows_is():
    """A built-in rule serves another op, by the places of its inputs; its name says whose it is."""
    rule = ops["Square"].gradient
    assert rule.__name__ == "gradient_of_Square"
    x = tf.Variable(3.0)

    @tf.RegisterGradient("AsSquareTwice")
    def twice(op, dy):
        return 2.0 * rule(op, dy)

    with tf.GradientTape(persistent=True) as tape:
        with tf.gradient_override_map({"Tanh": "Square"}):
            y = tf.tanh(x)
        with tf.gradient_override_map({"Tanh": "AsSquareTwice"}):
            z = tf.tanh(x)
    assert (float(tape.gradient(y, x)), float(tape.gradient(z, x))) == (6.0, 12.0)

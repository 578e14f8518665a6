"""What an editor that does not run the program completes, by Jedi: the public names, and the signatures of Keras's classes."""

import jedi
import pytest

HEAD = "import gradtape as tf\nx = tf.constant(1.0)\n"


def at_the_end_of(program):
    lines = program.splitlines()
    return {"line": len(lines), "column": len(lines[-1])}


@pytest.mark.parametrize(
    "program, expected",
    [
        (HEAD + "tf.", ["GradientTape", "constant", "keras", "range", "reduce_sum", "slice"]),
        (HEAD + "x.", ["dtype", "numpy", "shape"]),
        (HEAD + "tf.math.", ["log", "softplus"]),
        (HEAD + "tf.nn.", ["lrn", "silu", "swish"]),
        (HEAD + "tf.keras.", ["Model", "Sequential", "layers", "losses", "optimizers"]),
        (HEAD + "tf.keras.layers.", ["Dense", "Dropout", "LSTM"]),
        (HEAD + "tf.compat.v1.", ["Session", "Variable", "placeholder"]),
        ("import gradtape as tf\nwith tf.GradientTape() as tape:\n    tape.", ["gradient", "jacobian", "watch"]),
        (HEAD + "tf.optimizers.", ["Adam", "LevenbergMarquardt", "SGD"]),
        (HEAD + "tf.autodiff.explain(x, x).", ["cause", "code", "line", "mend"]),
        (HEAD + "answer = tf.autodiff.explain_nan(x, x)\nanswer.", ["cause", "code"]),
        (HEAD + "tf.losses.", ["MeanSquaredError"]),
        (HEAD + "tf.metrics.", ["Accuracy"]),
        ("from gradtape.keras import layers\nlayers.", ["Dense"]),
    ],
)
def test_completions(program, expected):
    found = {completion.name for completion in jedi.Script(program).complete(**at_the_end_of(program))}
    assert found >= set(expected)


@pytest.mark.parametrize(
    "call, parameters",
    [
        ("tf.reduce_sum(", ["input_tensor", "axis", "keepdims", "name"]),
        ("tf.range(", ["start", "limit", "delta", "dtype", "name"]),
        ("tf.keras.layers.Dense(", ["units", "activation", "use_bias"]),
        ("tf.keras.optimizers.Adam(", ["learning_rate", "beta_1", "beta_2"]),
        ("tf.keras.Sequential(", ["layers", "trainable", "name"]),
    ],
)
def test_signatures(call, parameters):
    (signature,) = jedi.Script(HEAD + call).get_signatures(**at_the_end_of(HEAD + call))
    assert [parameter.name for parameter in signature.params][: len(parameters)] == parameters

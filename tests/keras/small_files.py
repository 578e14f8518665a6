"""A small model, and the `.keras` files of it that Keras wrote on TensorFlow and on JAX: tests/keras/files.

Written, and read back on another backend, from the root of the repository:
`KERAS_BACKEND=jax python -m tests.keras.small_files write jax.keras`, and
`KERAS_BACKEND=jax python -m tests.keras.small_files check gradtape.keras`.
"""

import sys

import numpy as np

X = np.cos(np.arange(24) * 0.37).reshape(2, 4, 3).astype("float32")
# What the model gives for X on TensorFlow.
EXPECTED = [[0.35338959, 0.74050939], [0.53265947, 0.83414598]]


def model_of(keras):
    """A recurrent and a dense layer with weights that are known."""
    model = keras.Sequential([keras.Input([4, 3]), keras.layers.GRU(2), keras.layers.Dense(2, activation="tanh")])
    model.set_weights([np.sin(np.arange(1, 1 + w.size) * 0.7).reshape(w.shape) for w in model.get_weights()])
    return model


if __name__ == "__main__":
    import keras

    task, path = sys.argv[1:]
    if task == "write":
        model = model_of(keras)
        model.save(path)
        print(np.asarray(model(X)).tolist())
    else:
        np.testing.assert_allclose(np.asarray(keras.models.load_model(path)(X)), EXPECTED, atol=1e-6)
        print("The same numbers.")

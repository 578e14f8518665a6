"""The processor time of the import, on which nothing has been computed yet."""

KEY = "e2"
TITLE = "processor time of the import"
MEASURE = "processor time"
TARGETS = {"tensorflow_eager": 1.0}
LIMIT = 1.0


def gradtape():
    def step():
        import gradtape as tf

        return tf.__version__ == ""

    return step


def tensorflow_eager():
    def step():
        import tensorflow as tf

        return tf.__version__ == ""

    return step


def torch_eager():
    def step():
        import torch

        return torch.__version__ == ""

    return step


def jax_jit():
    def step():
        import jax

        return jax.__version__ == ""

    return step

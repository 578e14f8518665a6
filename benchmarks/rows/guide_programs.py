"""The corpus of user programs, concatenated to one script; tests compare each with TensorFlow."""

import numpy as np

KEY = "gs"
TITLE = "process start to the end of a script of 53 programs as in the guides"
MEASURE = "process start"
TARGETS = {"tensorflow_eager": 0.6}


def script(tf):
    from tests.guide.corpus import PROGRAMS
    from tests.guide.corpus.record import plain

    return np.float32(len([plain(program(tf)) for program in PROGRAMS.values()]))


def gradtape():
    def step():
        import gradtape as tf

        return script(tf)

    return step


def tensorflow_eager():
    def step():
        import tensorflow as tf

        return script(tf)

    return step

"""A decorator that pauses the tape."""

import gradtape as tf

w = tf.Variable(2.0)
tape = tf.GradientTape()


def quiet(f):
    def inner(*args):
        with tape.stop_recording():
            return f(*args)

    return inner


@quiet
def scaled(x):
    return w * x  # <- recording_paused


with tape:
    loss = scaled(3.0) ** 2
tape.gradient(loss, w)
# Advice: leave out `@quiet`

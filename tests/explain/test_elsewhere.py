"""Who explains may stand in another module than the program: the answers are those that the program itself gets."""

import importlib

import pytest

import gradtape as tf

PROGRAM = """
import gradtape as tf


class Coach(tf.Module):
    def __init__(self):
        self.teacher, self.student = tf.keras.layers.Dense(2), tf.keras.layers.Dense(2)
        self.teacher.build([None, 2])
        self.taught = False

    def __call__(self, x):
        if self.taught:
            return self.teacher(x)
        return self.student(x)


coach, bonus = Coach(), tf.Variable(1.0)
generous = False
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(coach(tf.ones([1, 2])) ** 2)
    if generous:
        loss = loss + bonus
gradients = tape.gradient(loss, [coach.teacher.kernel, bonus])
own = tf.autodiff.explain(loss, [coach.teacher.kernel, bonus])
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "coached.py").write_text(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("coached")


def test_the_same_answers(program):
    assert program.gradients == [None, None]
    found = tf.autodiff.explain(program.loss, [program.coach.teacher.kernel, program.bonus])
    for own, other, line in zip(program.own, found, (12, 21), strict=True):
        assert (own.code, own.line, own.cause, own.mend) == (other.code, other.line, other.cause, other.mend)
        assert (other.code, other.line) == ("branch_not_taken", line)

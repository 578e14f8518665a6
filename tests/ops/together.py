"""What is computed for some neighbouring rows at once, as each program takes long to compile."""

import gradtape as tf
from gradtape._src.core.engine import engine

TOGETHER = 8  # rows in a program


class Together:
    """Results of rows: `compute(rows)` gives those of some neighbours in `rows`, `{row: result}`.

    A result that is an exception is raised when that row is asked for, and hurts no other.
    """

    def __init__(self, rows, compute):
        self.rows, self.compute, self.found = list(rows), compute, {}

    def __call__(self, row):
        if row not in self.found:
            first = self.rows.index(row) // TOGETHER * TOGETHER
            self.found.update(self.compute(self.rows[first : first + TOGETHER]))
        found = self.found[row]
        if isinstance(found, Exception):
            raise found
        return found


def in_step(rows, steps):
    """Results of the generators `steps(row)`, which record ops before a `yield`, and read what they compute behind it.

    All rows record before any of them reads, so that their ops run as one program. Where that fails, each row runs by itself.
    """
    try:
        return _in_step(rows, steps)
    except Exception:
        return {row: _alone(row, steps) for row in rows}


def _in_step(rows, steps):
    results, unfinished = {}, {row: steps(row) for row in rows}
    while unfinished:
        with tf.GradientTape(watch_accessed_variables=False):  # without one, each tape of a row first runs what is pending
            for row, generator in unfinished.items():
                try:
                    next(generator)
                except StopIteration as end:
                    results[row] = end.value
                except Exception as error:
                    results[row] = error
        unfinished = {row: generator for row, generator in unfinished.items() if row not in results}
        engine.flush()
    return results


def _alone(row, steps):
    try:
        return _in_step([row], steps)[row]
    except Exception as error:
        return error

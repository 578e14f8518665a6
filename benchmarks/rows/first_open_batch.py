"""The first call of row (ob) in a new process: tracing with an open number of rows included."""

from benchmarks.rows.open_batch import gradtape as gradtape, tensorflow_function as tensorflow_function

KEY = "ho"
TITLE = "cold: first call of a function with input_signature [None, 4]"
MEASURE = "first step"
TARGETS = {"tensorflow_function": 1.0}

"""The functions of `keras.ops.nn`, by family."""

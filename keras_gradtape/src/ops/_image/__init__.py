"""The functions of `keras.ops.image`, by family."""

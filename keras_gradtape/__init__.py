"""Keras on gradtape: the backend `KERAS_BACKEND=gradtape`. Only Keras imports `keras_gradtape.src`, as `hook` explains."""

__version__ = "0.1.0"

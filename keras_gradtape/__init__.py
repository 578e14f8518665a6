"""Keras on gradtape: the backend `KERAS_BACKEND=gradtape`. Only Keras imports `keras_gradtape.src`; see `hook` for how."""

__version__ = "0.1.0"

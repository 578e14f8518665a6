"""The backend as one flat namespace for Keras 3.15. From 3.16 on Keras reads `keras_gradtape.src` itself."""

from keras_gradtape import src

_names = {name: getattr(src, name) for name in src.__all__ if name != "ops"}
_names |= {name: getattr(src.ops, name) for name in ("core", "image", "linalg", "math", "nn", "numpy")}
_names |= {name: getattr(src.ops.core, name) for name in src.ops.core.__all__}
_names |= {name: getattr(src.rnn, name) for name in "rnn lstm gru bidirectional_lstm bidirectional_gru cudnn_ok".split()}

globals().update(_names)
__all__ = list(_names)

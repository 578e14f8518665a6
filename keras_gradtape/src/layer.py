"""What a Keras layer has of its backend: a name on the tape for what it gives, and a place in checkpoints."""

from gradtape._src.core import noted, scopes
from keras_gradtape.src.tracked import KerasTracked


class BackendLayer(KerasTracked):
    """A layer on gradtape: `tape.get_tensor_by_name("dense")` is what the layer of that name gave."""

    def __call__(self, *args, **kwargs):
        outputs = super().__call__(*args, **kwargs)  # type: ignore[misc]  # of Keras's Operation
        noted.note(scopes.prefix()[:-1], outputs)
        return outputs

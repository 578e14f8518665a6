"""Saved models: `tf.saved_model`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.train.saved_model.load import contains_saved_model as contains_saved_model, load as load
from gradtape._src.train.saved_model.options import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    GPU as GPU,
    SERVING as SERVING,
    TPU as TPU,
    TRAINING as TRAINING,
    VARIABLES_DIRECTORY as VARIABLES_DIRECTORY,
    VARIABLES_FILENAME as VARIABLES_FILENAME,
    LoadOptions as LoadOptions,
    SaveOptions as SaveOptions,
)
from gradtape._src.train.saved_model.save import save as save

__getattr__ = _missing(__name__)

"""Input pipelines as in TensorFlow 1: iterators that give tensors of a graph. The rest is `tf.data`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.data.dataset import Dataset as Dataset
from gradtape._src.v1.data import Iterator as Iterator
from gradtape._src.v1.session_iterators import (
    get_output_classes as get_output_classes,
    get_output_shapes as get_output_shapes,
    get_output_types as get_output_types,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)

__getattr__ = _falls_back(__name__, "data")

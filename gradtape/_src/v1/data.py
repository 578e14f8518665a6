"""`Iterator` of TensorFlow 1's `tf.data`."""

from gradtape._src.v1.session_iterators import SessionIterator, from_string_handle, from_structure


class Iterator(SessionIterator):
    """An iterator over a dataset in a graph.

    `Iterator.from_structure(types, shapes)` creates one for datasets set later, `Iterator.from_string_handle(handle, types,
    shapes)` one that each run chooses.
    """

    from_structure = staticmethod(from_structure)
    from_string_handle = staticmethod(from_string_handle)

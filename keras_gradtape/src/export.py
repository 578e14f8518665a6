"""The export of a model's forward pass."""


class SavedModelExportArchive:
    """TensorFlow's SavedModel, which only TensorFlow can write."""

    def __init__(self):
        raise NotImplementedError(
            "A SavedModel holds TensorFlow's graph, and only TensorFlow can write one. Save the model with "
            "model.save('model.keras'), and export it from Keras on TensorFlow, which loads that file."
        )

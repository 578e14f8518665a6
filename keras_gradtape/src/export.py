"""The export of a model's forward pass."""


class SavedModelExportArchive:
    """TensorFlow's SavedModel, which only TensorFlow can write."""

    def __init__(self):
        raise NotImplementedError(
            "A SavedModel holds TensorFlow's graph, and only TensorFlow can write one. tf.train.export_stablehlo writes it "
            "as StableHLO; or save it with model.save('model.keras') and export it from Keras on TensorFlow, which loads it."
        )

"""The export of a model's forward pass."""


class SavedModelExportArchive:
    """TensorFlow's SavedModel, which only TensorFlow can write."""

    def __init__(self):
        raise NotImplementedError(
            "`export_saved_model` only currently supports the tensorflow, jax and torch backends. tf.train.export_stablehlo "
            "writes the model as StableHLO; or save it with model.save('model.keras') and export it from Keras on TensorFlow, "
            "which loads that file."
        )

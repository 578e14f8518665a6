"""The table of changes that gradtape makes in Keras's modules at import, and the function that applies them.

A change that finds nothing to change is an error. `docs/keras.md` shows the table.
"""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from keras_gradtape import patches, trees
from keras_gradtape.trees import arm, base
from keras_gradtape.versions import AFTER, OLDEST, WORKS, Keras

PLUGGABLE = (3, 16)  # from this version on Keras loads a known backend NAME from the package `keras_NAME`


class Edit(NamedTuple):
    """One change of Keras's modules: of their syntax trees (`changes_tree`), or of their names after they are loaded."""

    modules: str
    change: Callable[[Any], Any]
    why: str
    goes: str  # the change in Keras that would make this one unnecessary
    changes_tree: bool = False
    since: tuple[int, ...] = OLDEST
    before: tuple[int, ...] = AFTER


LISTED = "Keras 3.16 loads a backend by its name: the row goes with the support of 3.15"
ASKS = "Keras asks for the backend's package, by its name, in the place of a list"
LAZY = "Keras takes its module of TensorFlow from the backend"
TABLES = "Keras has these layers on the backend's own tables"
NEUTRAL = "Keras does this on all backends"

_CHAINS = (
    (
        "keras.src.backend",
        "from keras_gradtape.src.flat import *\nfrom keras_gradtape.src import Variable as BackendVariable",
        "backends",
    ),
    ("keras.src.layers.layer", "from keras_gradtape.src.layer import BackendLayer", "the backends' layers"),
    ("keras.src.models.model", "from keras_gradtape.src.trainer import Trainer", "the backends' trainers"),
    (
        "keras.src.export.saved_model",
        "from keras_gradtape.src.export import SavedModelExportArchive as BackendSavedModelExportArchive",
        "the backends' exports",
    ),
)

EDITS = (
    *[
        Edit(module, arm(source), f"The chain of {what} ends with an error", LISTED, changes_tree=True, before=PLUGGABLE)
        for module, source, what in _CHAINS
    ],
    Edit(
        "keras.src.utils.module_utils keras.src.utils.backend_utils",
        patches.add_name,
        "Only backends in a list of Keras's are loaded by their names",
        "Keras finds backends by entry points of packages, or has a function that adds a name",
        since=PLUGGABLE,
    ),
    Edit(
        "keras.src.optimizers.optimizer",
        arm("from keras_gradtape.src.optimizer import BackendOptimizer"),
        "The chain of the backends' optimizers ends with an empty class, in 3.16 too",
        "Keras loads `src.optimizer` of a backend, as it does `src.layer`",
        changes_tree=True,
    ),
    Edit(
        "keras.src.losses.loss",
        base("WatchedLoss", "keras_gradtape.src.replayed", of="Loss"),
        "Each eager step runs the Python code of a loss again, a third of a small model's step",
        "`Loss` has a base of the backend's, as `Layer` has",
        changes_tree=True,
    ),
    Edit(
        "keras.src.metrics.metric",
        base("WatchedMetric", "keras_gradtape.src.replayed", of="Metric"),
        "Each eager step runs the Python code of a metric again",
        "`Metric` has a base of the backend's, as `Layer` has",
        changes_tree=True,
    ),
    Edit(
        "keras.src.utils.backend_utils",
        patches.extend_dynamic_backend,
        "`DynamicBackend` refuses backends that are not in its list, and takes TensorFlow's in a dataset",
        LISTED,
        before=PLUGGABLE,
    ),
    Edit(
        "keras.src.utils.backend_utils",
        patches.know_graphs,
        "A function of gradtape's under the name of TensorFlow is taken for a graph of TensorFlow's",
        LAZY,
    ),
    Edit(
        "keras.backend keras.config keras._tf_keras.keras.backend keras._tf_keras.keras.config",
        patches.say_tensorflow,
        'Programs for TensorFlow branch on `backend() == "tensorflow"`; where gradtape stands for that, it says so',
        "none: this is gradtape's choice",
    ),
    Edit(
        "keras.src.layers.preprocessing.data_layer",
        patches.ask_privately,
        "The layer asks the public `backend()`, which may say TensorFlow, for the backend that runs",
        "the layer asks `keras.src.backend.backend()`",
    ),
    Edit(
        "keras.src.callbacks.tensorboard",
        trees.import_gradtape,
        "TensorBoard's callback imports `tensorflow.summary`",
        "the callback writes by an interface of the backend",
        changes_tree=True,
    ),
    Edit(
        "keras.src.callbacks.tensorboard",
        patches.claim_tensorflow,
        "The callback traces batches on backends that it knows by name",
        "the callback asks whether there is `backend.tensorboard`",
    ),
    Edit(
        "keras.src.utils.dataset_utils keras.src.utils.image_dataset_utils",
        trees.import_gradtape,
        "Functions of datasets import TensorFlow when they are called",
        LAZY,
        changes_tree=True,
    ),
    Edit(
        "keras.src.utils.dataset_utils",
        patches.know_datasets,
        "`split_dataset` tells datasets of `tf.data` by the names of their classes",
        LAZY,
    ),
    Edit(
        "keras.src.utils.rng_utils keras.src.utils.text_dataset_utils keras.src.utils.timeseries_dataset_utils"
        " keras.src.layers.preprocessing.discretization keras.src.layers.preprocessing.normalization keras.src.legacy.backend"
        " keras.src.export.export_utils keras.src.export.saved_model_export_archive keras.src.export.tfsm_layer"
        " keras.src.saving.serialization_lib",
        patches.give_tensorflow,
        "Datasets, `adapt`, `tf.keras.backend`, the seed of all random numbers, and how shapes and dtypes are saved"
        " are written with TensorFlow's names",
        LAZY,
    ),
    Edit(
        "keras.src.layers.preprocessing.hashed_crossing keras.src.layers.preprocessing.hashing"
        " keras.src.layers.preprocessing.index_lookup",
        trees.import_loaded,
        "Layers of strings import TensorFlow, and Keras's backend of it when they are called",
        TABLES,
        changes_tree=True,
    ),
    Edit(
        "keras.src.layers.preprocessing.feature_space keras.src.layers.preprocessing.integer_lookup"
        " keras.src.layers.preprocessing.string_lookup keras.src.layers.preprocessing.text_vectorization"
        " keras.src.utils.tf_utils",
        patches.give_loaded,
        "Layers of strings are written with TensorFlow's names",
        TABLES,
    ),
    Edit(
        "keras.src.layers.preprocessing.text_vectorization",
        trees.allow_rows,
        "`ragged=True` is refused on all backends but TensorFlow's",
        "the layer asks the backend's `SUPPORTS_RAGGED_TENSORS`",
        changes_tree=True,
    ),
    Edit(
        "keras.src.layers.preprocessing.index_lookup",
        patches.encode_rows,
        "Rows of different lengths are encoded by classes on TensorFlow's backend alone",
        TABLES,
    ),
    Edit(
        "keras.src.backend.common.dtypes",
        patches.keep_64_bits,
        "On all backends but TensorFlow's 64 bits are narrowed to 32",
        "the backend says whether it has 64 bits",
    ),
    Edit(
        "keras.src.trainers.compile_utils",
        patches.average_batches,
        "The mean loss of each output weights batches by their rows only where a trace knows them",
        "Keras weights them by the rows of the batch that runs, as it does for the whole loss",
    ),
    Edit(
        "keras.src.trainers.data_adapters.array_slicing",
        patches.slice_strings,
        "The adapter asks whether the dtype of strings is one of floats, which is an error",
        NEUTRAL,
    ),
    Edit(
        "keras.src.callbacks.backup_and_restore",
        patches.back_up_together,
        "Several processes write one backup over each other",
        "`BackupAndRestore` writes once for all processes",
    ),
    Edit(
        "keras.src.callbacks.callback_list",
        patches.dispatch_in_order,
        "An interrupt can leave the pool of threads locked in which callbacks run, and Python does not end",
        NEUTRAL,
    ),
    Edit(
        "keras.src.utils.python_utils",
        patches.let_interrupts_through,
        "An interrupt is dropped that arrives while logs are read",
        "`pythonify_logs` catches Exception alone",
    ),
    Edit(
        "keras.src.utils.traceback_utils",
        patches.keep_op_errors,
        "An op's error becomes a RuntimeError where the arguments of a call are added",
        "Keras copies errors, or adds a note to them",
        before=PLUGGABLE,
    ),
    Edit(
        "keras.src.utils.traceback_utils",
        patches.keep_class,
        "An op's error becomes a RuntimeError where the arguments of a call are added",
        "Keras copies errors, or adds a note to them",
        since=PLUGGABLE,
    ),
    Edit(
        "keras.src.utils.traceback_utils",
        patches.call_tensors_tensorflows,
        "Tensors of other backends than TensorFlow's, JAX's and PyTorch's have no name in an error",
        "Keras asks the backend for the name",
    ),
    Edit(
        "keras.src.activations keras.src.constraints keras.src.initializers keras.src.losses keras.src.metrics"
        " keras.src.optimizers keras.src.regularizers",
        patches.suggest,
        "The error for an identifier that is misspelt does not name the nearest one",
        "Keras names it",
    ),
    Edit(
        "keras.src.export.onnx",
        patches.refuse_onnx,
        "ONNX of another backend is not written, without a word",
        "Keras raises an error there",
    ),
    Edit(
        "keras.src.export.tfsm_layer",
        patches.claim_tensorflow,
        "`TFSMLayer` is refused on all backends but TensorFlow's",
        "Keras loads saved models by the backend",
    ),
    Edit(
        "keras.src.saving.saving_lib",
        patches.save_whole,
        "A file that is written when the process dies is half of one",
        "Keras writes beside the file, and renames",
    ),
    Edit(
        "keras.src.legacy.saving.legacy_h5_format",
        patches.save_hdf5_whole,
        "A file that is written when the process dies is half of one",
        "Keras writes beside the file, and renames",
    ),
    Edit(
        "keras.src.saving.saving_api",
        patches.load_whole,
        "Weights that fail to load leave a model with half of them, and the error does not name the file",
        "Keras reads all before it assigns",
    ),
    Edit(
        "keras.src.saving.serialization_lib",
        patches.find_optimizers,
        "A file from PyTorch's backend names optimizers that only PyTorch can import",
        "Keras writes the public names of optimizers",
    ),
)


def of_version(version: tuple[int, ...]) -> dict[str, list[Edit]]:
    """Return the changes for a version of Keras, by module."""
    found: dict[str, list[Edit]] = {}
    for edit in EDITS:
        if edit.since <= version and (version < edit.before or edit.before == AFTER):
            for module in edit.modules.split():
                found.setdefault(module, []).append(edit)
    return found


def change(edit: Edit, name: str, subject: Any, keras: Keras) -> None:
    """Apply a change to `subject`, the syntax tree of the module `name` or the loaded one; RuntimeError if it has no effect."""
    try:
        took = edit.change(subject)
        values = {} if edit.changes_tree else {place: (_owner(subject, place), value) for place, value in took.items()}
    except AttributeError as error:
        raise missed(edit, name, keras) from error
    if not took or any(place.rpartition(".")[2] not in vars(owner) for place, (owner, _) in values.items()):
        raise missed(edit, name, keras)
    for place, (owner, value) in values.items():
        setattr(owner, place.rpartition(".")[2], value)


def _owner(module: ModuleType, place: str) -> Any:
    """Return the module, or the class in it that a dotted name refers to."""
    kind = place.rpartition(".")[0]
    return getattr(module, kind) if kind else module


def missed(edit: Edit, name: str, keras: Keras) -> RuntimeError:
    """Return the error for a change that found nothing to change."""
    return RuntimeError(
        f"Keras {keras.version} ({keras.folder}) does not run on gradtape: in {name} there is nothing of what gradtape changes "
        f"there, for this reason: {edit.why}. {WORKS}"
    )


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a page's table: modules, the reason, and the change in Keras that would make the row unnecessary."""
    for edit in EDITS:
        only = " (3.15)" if edit.before == PLUGGABLE else " (3.16)" if edit.since == PLUGGABLE else ""
        modules = ", ".join(f"`{name.removeprefix('keras.src.')}`" for name in edit.modules.split())
        yield f"{modules}{only}{', syntax tree' if edit.changes_tree else ''}", edit.why, edit.goes

"""Changes of loaded Keras modules. Each function takes the module, and returns the new values of its names.

A dotted name is an attribute of a class. Keras is not imported here, and gradtape only in functions that need it.
"""

import contextlib
import functools
import os
import sys
from types import SimpleNamespace
from typing import Any

from keras_gradtape import nearest
from keras_gradtape.choosing import NAME, door_is_open
from keras_gradtape.stand_ins import (
    Changed,
    backend,
    loaded_tensorflow,
    stands_for_tensorflow,
    tensorflow,
    tensorflow_is_loaded,
)


def average_batches(module) -> dict[str, Any]:
    """Average the loss of each output over batches, as TensorFlow does, whose traces do not know the number of rows.

    Keras weights a batch by its rows where they are known: here in the first trace, but not in the one for any number of rows.
    """
    build = module.CompileLoss.build

    def built(self, y_true, y_pred):
        build(self, y_true, y_pred)
        for mean in self.metrics:
            mean.update_state = functools.partial(_unweighted, mean.update_state)

    return {"CompileLoss.build": built}


def _unweighted(update_state, value, sample_weight=None):
    return update_state(value)


def back_up_together(module) -> dict[str, Any]:
    """Make several processes back up one common checkpoint; a single process uses Keras's two files.

    The checkpoint is one file of the weights, the optimizer's state, the states of random layers and the epoch, so that they
    are consistent. Each process writes its parts of sharded variables.
    """
    from gradtape._src.core.base import hooks

    kind = module.BackupAndRestore
    save, load, end = kind._save_model, kind._load_model, kind.on_train_end

    def backup(self, number):
        """Return the checkpoint, and the manager, which writes each to new files, so that none is half overwritten."""
        tf: Any = sys.modules["gradtape"]
        self._epoch, self._number = (tf.Variable(value, dtype="int64") for value in (self._current_epoch, number))
        parts = {"epoch": self._epoch, "number": self._number, "optimizer": self.model.optimizer}
        checkpoint = tf.train.Checkpoint(model=self.model, **parts)
        return checkpoint, tf.train.CheckpointManager(checkpoint, self.backup_dir, max_to_keep=1)

    def _save_model(self):
        if hooks.clients.together is None:
            return save(self)
        number = 1 + int(getattr(self, "_number", 0))
        return backup(self, number)[1].save(checkpoint_number=number)

    def _load_model(self):
        if hooks.clients.together is None or not self.model.built:
            return load(self)
        checkpoint, manager = backup(self, 0)
        if manager.latest_checkpoint is None:
            return None
        self.model.optimizer.build(self.model.trainable_variables)
        checkpoint.restore(manager.latest_checkpoint).assert_consumed()
        self.model._initial_epoch = self._current_epoch = int(self._epoch)
        return None

    def on_train_end(self, logs=None):
        if hooks.clients.together is None:
            end(self, logs)
        else:
            # The old backup is removed only after all processes have seen the new one.
            hooks.clients.together("the end of a backup", lambda: None)
            hooks.clients.once(os.path.join(self.backup_dir, "latest"), lambda: end(self, logs))

    found = {"_save_model": _save_model, "_load_model": _load_model, "on_train_end": on_train_end}
    return {f"BackupAndRestore.{name}": method for name, method in found.items()}


def dispatch_in_order(module) -> dict[str, Any]:
    """Run callbacks that may run in the background in one thread, which an interrupt of the training does not break.

    Keras uses Python's thread pool, which an interrupt can leave locked, so that Python does not exit.
    """
    from gradtape._src.core.platform.runtime import Background

    return {"concurrent": SimpleNamespace(futures=SimpleNamespace(ThreadPoolExecutor=Background))}


def let_interrupts_through(module) -> dict[str, Any]:
    """Let an interrupt through while the values of logs are read, where Keras drops it with all other errors."""

    def pythonify_logs(logs):
        from keras.src import ops

        numbers = {}
        for key, value in sorted((logs or {}).items()):
            if isinstance(value, dict):
                numbers |= pythonify_logs(value)
                continue
            with contextlib.suppress(Exception):
                if ops.is_tensor(value):
                    value = ops.convert_to_numpy(value)
                value = float(value)
            numbers[key] = value
        return numbers

    return {"pythonify_logs": functools.wraps(module.pythonify_logs)(pythonify_logs)}


def claim_tensorflow(module) -> dict[str, Any]:
    """Make Keras's backend name itself TensorFlow for this module, which compares the name."""
    return {"backend": Changed(module.backend, backend=lambda: "tensorflow")}


def ask_privately(module) -> dict[str, Any]:
    """Make the module ask for the actual backend, because Keras's public `backend()` may return "tensorflow"."""
    return {"keras": Changed(module.keras, backend=backend)}


def add_name(module) -> dict[str, Any]:
    """Add the name to the backends that Keras loads from separate packages."""
    return {"PLUGGABLE_BACKENDS": module.PLUGGABLE_BACKENDS | {NAME}}


def say_tensorflow(module) -> dict[str, Any]:
    """Make Keras's public `backend()` return "tensorflow" if gradtape replaces TensorFlow, as programs branch on the name."""
    chosen = module.backend

    @functools.wraps(chosen)
    def backend():
        name = chosen()
        return "tensorflow" if name == NAME and door_is_open() else name

    return {"backend": backend}


def keep_64_bits(module) -> dict[str, Any]:
    """Keep 64-bit dtypes: "int" is int64, as with TensorFlow, and promotion narrows no dtype.

    Only uint32 with int32 is not widened, because Keras's tests expect JAX's result.
    """
    promoted = module._lattice_result_type

    def _lattice_result_type(*types):
        found = promoted(*types)
        return "int32" if found == "int64" and "uint32" in types and not {"int64", "uint64"} & {*types} else found

    return {
        "_lattice_result_type": _lattice_result_type,
        "PYTHON_DTYPES_MAP": module.PYTHON_DTYPES_MAP | {int: "int64", "int": "int64"},
        "BIT64_TO_BIT32_DTYPE": {},
    }


def know_graphs(module) -> dict[str, Any]:
    """Prevent functions of gradtape from being taken for TensorFlow graphs when `sys.modules` has gradtape as "tensorflow"."""
    asks_tensorflow, converted = module.in_tf_graph, module.convert_tf_tensor

    def convert_tf_tensor(outputs, dtype=None):
        return outputs if isinstance(outputs, tensorflow.RaggedTensor) else converted(outputs, dtype)

    return {
        "convert_tf_tensor": convert_tf_tensor,
        "in_tf_graph": lambda: not stands_for_tensorflow() and asks_tensorflow(),
    }


def extend_dynamic_backend(module) -> dict[str, Any]:
    """Make `DynamicBackend` of Keras 3.15 accept this backend.

    It also replaces TensorFlow's backend, which datasets ask for, if TensorFlow is not loaded.
    """
    kind = module.DynamicBackend
    known_attribute, set_known = kind.__getattr__, kind.set_backend

    def __getattr__(self, name):
        chosen = self.__dict__.get("_backend")
        if chosen == "tensorflow" and not tensorflow_is_loaded():
            chosen = NAME
        if chosen == NAME:
            return getattr(module.backend_module, name)
        return known_attribute(self, name)

    def set_backend(self, backend):
        if backend == NAME:
            self._backend = NAME
        else:
            set_known(self, backend)

    return {"DynamicBackend.__getattr__": __getattr__, "DynamicBackend.set_backend": set_backend}


def keep_op_errors(module) -> dict[str, Any]:
    """Keep the class of an op's error when Keras 3.15 adds the arguments of a call: it creates errors from a message alone."""
    add_arguments = module.inject_argument_info_in_traceback

    def inject_argument_info_in_traceback(fn, object_name=None):
        call = add_arguments(fn, object_name)

        def error_handler(*args, **kwargs):
            try:
                return call(*args, **kwargs)
            except RuntimeError as error:
                told = of_its_class(error.__context__, error)
                if told is error:
                    raise
                raise told from None

        return error_handler

    return {"inject_argument_info_in_traceback": inject_argument_info_in_traceback}


def keep_class(module) -> dict[str, Any]:
    """Keep the class of an op's error when Keras 3.16 adds the arguments of a call."""
    add_arguments = module.inject_argument_info_in_error

    def inject_argument_info_in_error(e, *args, **kwargs):
        return of_its_class(e, add_arguments(e, *args, **kwargs))

    return {"inject_argument_info_in_error": inject_argument_info_in_error}


def of_its_class(first: Any, error: Any) -> Any:
    """Convert Keras's `error`, which repeats `first` with the arguments of a call, to the class of `first`, an op's error."""
    if not (hasattr(error, "_keras_call_info_injected") and hasattr(first, "node_def")) or type(error) is type(first):
        return error
    told: Any = type(first)(first.node_def, first.op, str(error))
    told._keras_call_info_injected = True
    return told.with_traceback(error.__traceback__)


def call_tensors_tensorflows(module) -> dict[str, Any]:
    """Name tensors in arguments `tf.Tensor`, as on TensorFlow, because Keras has no name for those of other backends."""
    formatted, is_tensor = (
        module.format_argument_value,
        lambda value: getattr(module.backend, "ops", module.backend).is_tensor(value),
    )

    def format_argument_value(value):
        text = formatted(value)
        return text.replace("array", "tf.Tensor", 1) if is_tensor(value) else text

    return {"format_argument_value": format_argument_value}


def give_tensorflow(module) -> dict[str, Any]:
    """Provide gradtape under TensorFlow's name for code that is written for TensorFlow."""
    return {"tf": tensorflow}


def give_loaded(module) -> dict[str, Any]:
    """Provide TensorFlow if a program has loaded it, and gradtape otherwise."""
    return {"tf": loaded_tensorflow}


def know_datasets(module) -> dict[str, Any]:
    """Make `split_dataset` recognize gradtape's datasets, as it identifies those of `tf.data` by class name."""
    is_other = module.is_tf_dataset
    return {"is_tf_dataset": lambda dataset: isinstance(dataset, tensorflow.data.Dataset) or is_other(dataset)}


def encode_rows(module) -> dict[str, Any]:
    """Encode rows of different lengths by class, as TensorFlow's backend does. Padding is no class."""
    utils = module.numerical_utils

    def encode_categorical_inputs(inputs, *args, **kwargs):
        if isinstance(inputs, tensorflow.RaggedTensor):  # a RaggedTensor of gradtape
            inputs = inputs.to_tensor(-1)
        return utils.encode_categorical_inputs(inputs, *args, **kwargs)

    return {"numerical_utils": Changed(utils, encode_categorical_inputs=encode_categorical_inputs)}


def slice_strings(module) -> dict[str, Any]:
    """Slice arrays of strings unchanged, where Keras tests whether their dtype, object, is floating."""
    is_named = hasattr(module, "is_float_dtype")  # in Keras 3.16 and later
    is_float = (module if is_named else module.backend).is_float_dtype

    def is_float_dtype(dtype):
        return str(dtype) != "object" and is_float(dtype)

    return {"is_float_dtype": is_float_dtype} if is_named else {"backend": Changed(module.backend, is_float_dtype=is_float_dtype)}


def save_whole(module) -> dict[str, Any]:
    """Write models and weights to a temporary file that replaces the target, where Keras writes to the target itself.

    Folders, remote files, file objects and weights in several files are written by Keras.
    """
    return {
        "save_model": beside(module.save_model, ".keras"),
        "save_weights_only": beside(module.save_weights_only, ".weights.h5"),
    }


def save_hdf5_whole(module) -> dict[str, Any]:
    """Write models in HDF5 atomically, too."""
    return {"save_model_to_hdf5": beside(module.save_model_to_hdf5, (".h5", ".hdf5"))}


def beside(save, endings):
    """Wrap Keras's function `save(model, filepath, ...)`, so that it writes files with these endings atomically."""

    @functools.wraps(save)
    def saved(model, filepath, *args, **kwargs):
        path = os.fspath(filepath) if isinstance(filepath, (str, os.PathLike)) else ""
        whole = path.endswith(endings) and "://" not in path and os.path.isdir(os.path.dirname(os.path.abspath(path)))
        if not whole or os.path.isdir(path) or kwargs.get("zipped") is False:
            return save(model, filepath, *args, **kwargs)
        from gradtape._src.core.base import hooks
        from gradtape._src.core.platform import devices
        from gradtape._src.files.whole import replacing

        def write():
            with replacing(path) as part:
                save(model, part, *args, **kwargs)

        variables = [*model.variables, *getattr(getattr(model, "optimizer", None), "variables", ())]
        if devices.in_parts([variable.value.held().value for variable in variables]):
            write()  # all processes take part in reading them
        else:
            hooks.clients.once(path, write)

    return saved


def load_whole(module) -> dict[str, Any]:
    """Make errors of reading a file name it, and leave the model's weights unchanged."""
    load_model, load_weights = module.load_model, module.load_weights

    @functools.wraps(load_model)
    def model_loaded(filepath, *args, **kwargs):
        with named(filepath):
            return load_model(filepath, *args, **kwargs)

    @functools.wraps(load_weights)
    def weights_loaded(model, filepath, *args, **kwargs):
        before = [(variable, variable.value.read_value()) for variable in model.variables]
        try:
            with named(filepath):
                return load_weights(model, filepath, *args, **kwargs)
        except BaseException:
            for variable, value in before:
                variable.assign(value)
            raise

    return {"load_model": model_loaded, "load_weights": weights_loaded}


@contextlib.contextmanager
def named(filepath):
    """Add the name of a file to an error that does not mention it."""
    try:
        yield
    except Exception as error:
        if str(filepath) not in str(error):
            error.add_note(f"The file is {filepath}.")
        raise


def find_optimizers(module) -> dict[str, Any]:
    """Find PyTorch's optimizers: a file that Keras wrote on PyTorch refers to classes that only PyTorch can import."""
    retrieve = module._retrieve_class_or_fn

    def _retrieve_class_or_fn(name, registered_name, module, *args, **kwargs):
        if isinstance(module, str) and module.startswith("keras.src.backend.torch.optimizers."):
            module = "keras.optimizers"
        return retrieve(name, registered_name, module, *args, **kwargs)

    return {"_retrieve_class_or_fn": _retrieve_class_or_fn}


def suggest(module) -> dict[str, Any]:
    """Add the most similar known name to the error for an unknown identifier."""
    interpret, known = module.get, module.ALL_OBJECTS_DICT

    @functools.wraps(interpret)
    def get(identifier, *args, **kwargs):
        try:
            return interpret(identifier, *args, **kwargs)
        except ValueError as error:
            if isinstance(identifier, str):
                nearest.note(error, identifier, known)
            raise

    return {"get": get}


def refuse_onnx(module) -> dict[str, Any]:
    """Raise an error for the export to ONNX, as Keras 3.15 silently writes nothing for unknown backends."""

    def export_onnx(model, filepath, *args, **kwargs):
        raise NotImplementedError(
            "Keras writes ONNX from TensorFlow's, JAX's and PyTorch's models only. tf.train.export_stablehlo writes this one as "
            "StableHLO; or save it with model.save('model.keras') and load that file in Keras on another backend."
        )

    return {"export_onnx": export_onnx}

"""Makes "gradtape" a backend that Keras knows. Standard library only, and nothing of Keras is imported.

Keras from 3.16 loads a backend NAME from the package `keras_NAME`, if NAME stands in a set of its own: the name is added there.
Keras 3.15 has chains of `if backend() == ...` that end in `raise`: an arm is added before that. Both are done as Keras's modules
are compiled, because the names are copied while Keras is being imported; what is compiled so is never written to a cache.

`startup.py`, which Python runs when it starts, installs this hook when Keras is imported with KERAS_BACKEND=gradtape.
"""

import ast
import contextlib
import functools
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import SimpleNamespace
from typing import Any

from keras_gradtape.choosing import NAME, door_is_open

PACKAGE = "keras_gradtape"
CONFIG = "keras.src.backend.config"
BACKENDS = "PLUGGABLE_BACKENDS"

# What Keras 3.15 has to run where it chooses a backend.
ARMS = {
    "keras.src.backend": f"from {PACKAGE}.src.flat import *\nfrom {PACKAGE}.src import Variable as BackendVariable",
    "keras.src.layers.layer": f"from {PACKAGE}.src.layer import BackendLayer",
    "keras.src.models.model": f"from {PACKAGE}.src.trainer import Trainer",
    "keras.src.export.saved_model": f"from {PACKAGE}.src.export import SavedModelExportArchive as BackendSavedModelExportArchive",
    "keras.src.optimizers.optimizer": f"from {PACKAGE}.src.optimizer import BackendOptimizer",
}

# What imports TensorFlow where it needs it: it is given gradtape, whether TensorFlow is installed or not.
IMPORTING = {
    "keras.src.callbacks.tensorboard",
    "keras.src.utils.dataset_utils",
    "keras.src.utils.image_dataset_utils",
    "keras.src.utils.text_dataset_utils",
}

# The layers of strings and categories. They get TensorFlow where a program has loaded it, as its datasets may call them.
TABLES = {
    "keras.src.layers.preprocessing.feature_space",
    "keras.src.layers.preprocessing.hashed_crossing",
    "keras.src.layers.preprocessing.hashing",
    "keras.src.layers.preprocessing.index_lookup",
    "keras.src.layers.preprocessing.integer_lookup",
    "keras.src.layers.preprocessing.string_lookup",
    "keras.src.layers.preprocessing.text_vectorization",
    "keras.src.utils.tf_utils",
}

# What asks Keras's public `backend()`, which may say "tensorflow", for the backend that runs.
ASKING = {"keras.src.layers.preprocessing.data_layer"}
PUBLIC, PRIVATE = b"keras.backend.backend()", b"keras.src.backend.backend()"

RAGGED_ELSEWHERE = "ragged and backend.backend() != 'tensorflow'"

# What is done to a module once it is loaded.
COMPLETIONS = {
    **dict.fromkeys(
        [f"{keras}.{module}" for keras in ("keras", "keras._tf_keras.keras") for module in ("backend", "config")],
        "say_tensorflow",
    ),
    "keras.src.backend.common.dtypes": "keep_64_bits",
    "keras.src.callbacks.backup_and_restore": "back_up_together",
    "keras.src.callbacks.callback_list": "dispatch_in_order",
    "keras.src.callbacks.tensorboard": "let_profile",
    "keras.src.trainers.data_adapters.array_slicing": "slice_strings",
    "keras.src.utils.backend_utils": "extend_dynamic_backend",
    "keras.src.utils.dataset_utils": "know_datasets",
    "keras.src.utils.python_utils": "let_interrupts_through",
    "keras.src.utils.rng_utils": "give_tensorflow",
    "keras.src.utils.timeseries_dataset_utils": "give_tensorflow",
    "keras.src.utils.traceback_utils": "keep_op_errors",
    "keras.src.layers.preprocessing.index_lookup": "encode_rows",
    "keras.src.layers.preprocessing.discretization": "give_tensorflow",
    "keras.src.layers.preprocessing.normalization": "give_tensorflow",
    "keras.src.legacy.backend": "give_tensorflow",
    "keras.src.export.export_utils": "give_tensorflow",
    "keras.src.export.onnx": "refuse_onnx",
    "keras.src.export.saved_model_export_archive": "give_tensorflow",
    "keras.src.export.tfsm_layer": "load_saved_models",
    "keras.src.legacy.saving.legacy_h5_format": "save_whole",
    "keras.src.saving.saving_api": "load_whole",
    "keras.src.saving.saving_lib": "save_whole",
    "keras.src.saving.serialization_lib": "mend_loading",
}


def install() -> None:
    """Have Keras's modules changed as they are imported. An error if it is too late for that."""
    if any(finder is Finder for finder in sys.meta_path):
        return
    if "keras.src.backend" in sys.modules:
        raise RuntimeError(
            "Keras is imported already, so it cannot be given the backend 'gradtape' any more. Import gradtape.keras before "
            f"keras, or set KERAS_BACKEND={NAME} before that."
        )
    sys.meta_path.insert(0, Finder)


class Finder:
    """Finds the modules of Keras that choose a backend, as Python's own finder does, and has them changed."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != CONFIG and not any(fullname in changed for changed in (ARMS, ASKING, IMPORTING, TABLES, COMPLETIONS)):
            return None
        spec = PathFinder.find_spec(fullname, path, target)  # type: ignore[arg-type]
        if spec is not None and type(spec.loader) is SourceFileLoader and spec.origin is not None:
            spec.loader = Loader(fullname, spec.origin)
        return spec


class Loader(SourceFileLoader):
    """Loads a module whose syntax tree is changed first, or that is changed once it is there; what needs neither, as it is."""

    def get_code(self, fullname):  # not source_to_code, whose result would go into __pycache__
        path = self.get_filename(fullname)
        tree = self.changed_tree(fullname, path)
        if tree is None:
            return super().get_code(fullname)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def changed_tree(self, fullname, path):
        """The module's syntax tree with its change, or None where nothing is to be changed."""
        if fullname != CONFIG and not any(fullname in changed for changed in (ARMS, ASKING, IMPORTING, TABLES)):
            return None
        source = self.get_data(path)
        if fullname in ASKING:
            return ast.parse(source.replace(PUBLIC, PRIVATE), path)
        tree = ast.parse(source, path)
        if fullname == CONFIG:
            return add_name(tree)
        if fullname in TABLES:
            return import_gradtape(allow_rows(tree), "loaded_tensorflow", "loaded_backend")
        return add_arm(tree, ARMS[fullname]) if fullname in ARMS else import_gradtape(tree)

    def exec_module(self, module):
        super().exec_module(module)
        if module.__name__ in COMPLETIONS:
            globals()[COMPLETIONS[module.__name__]](module)


def add_name(tree: ast.Module) -> ast.Module | None:
    """Add the name to the backends that Keras loads from a package of their own, right after they are listed.

    Gives the tree, or None where nothing is to be changed.
    """
    for i, statement in enumerate(tree.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == BACKENDS for target in targets):
            tree.body.insert(i + 1, ast.parse(f"{BACKENDS} = {BACKENDS} | {{{NAME!r}}}").body[0])
            return tree
    return None


def add_arm(tree: ast.Module, source: str) -> ast.Module | None:
    """Add an arm for this backend to the chain of `if backend() == ...`, if that ends with an error or a fallback.

    Gives the tree, or None where nothing is to be changed.
    """
    for statement in tree.body:
        if not (
            isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare) and "backend()" in ast.unparse(statement)
        ):
            continue
        last = statement
        while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
            last = last.orelse[0]
        if not last.orelse or "get_pluggable_backend_module" in ast.unparse(last.orelse[0]):
            continue
        test = ast.Compare(statement.test.left, [ast.Eq()], [ast.Constant(NAME)])
        last.orelse = [ast.If(test, ast.parse(source).body, last.orelse)]
        return tree
    return None


def import_gradtape(tree: ast.Module, tensorflow: str = "tensorflow", backend: str = "backend") -> ast.Module:
    """Have every import of TensorFlow import the module of gradtape of that name; return the tree.

    `tensorflow` and `backend` are names in this file: what stands for TensorFlow, and for Keras's backend of it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "tensorflow":
            node.module = NAME + node.module.removeprefix("tensorflow")
        elif isinstance(node, ast.ImportFrom) and [name.name for name in node.names] == ["tensorflow"]:
            if node.module == "keras.src.utils.module_utils":  # Keras's module that imports it when it is first used
                node.module, node.names[0].name = f"{PACKAGE}.hook", tensorflow
            elif node.module == "keras.src.backend":
                node.module, node.names[0].name = f"{PACKAGE}.hook", backend
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] == "tensorflow":
                    name.name = NAME + name.name.removeprefix("tensorflow")
    return tree


def allow_rows(tree: ast.Module) -> ast.Module:
    """Remove the refusal of `ragged=True`, which Keras has for TensorFlow's backend alone; return the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [s for s in node.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == RAGGED_ELSEWHERE)]
    return tree


def back_up_together(module) -> None:
    """Have several processes back up one checkpoint; alone, Keras's two files serve.

    A checkpoint has the weights, the optimizer's state, that of random layers and the epoch in one file, so that none is older
    than the others. Each process has its parts of variables that lie in parts.
    """
    from gradtape._src.core import hooks

    kind = module.BackupAndRestore
    save, load, end = kind._save_model, kind._load_model, kind.on_train_end

    def backup(self, number):
        """The checkpoint, and the manager that gives each one files of its own, so that none is half written over."""
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
            hooks.clients.together("the end of a backup", lambda: None)  # all have seen the last one before it goes
            hooks.clients.once(os.path.join(self.backup_dir, "latest"), lambda: end(self, logs))

    kind._save_model, kind._load_model, kind.on_train_end = _save_model, _load_model, on_train_end


def dispatch_in_order(module) -> None:
    """Run callbacks that may run beside the training in one thread, which an interrupt of the training leaves whole.

    Keras's threads are Python's pool, which such an interrupt can leave locked: Python does not end then.
    """
    from gradtape._src.core.runtime import Background

    module.concurrent = SimpleNamespace(futures=SimpleNamespace(ThreadPoolExecutor=Background))


def let_interrupts_through(module) -> None:
    """Let an interrupt through that arrives while the values of logs are read, where Keras drops it with any other error."""

    def pythonify_logs(logs):
        from keras.src import backend

        numbers = {}
        for key, value in sorted((logs or {}).items()):
            if isinstance(value, dict):
                numbers |= pythonify_logs(value)
                continue
            with contextlib.suppress(Exception):
                if backend.is_tensor(value):
                    value = backend.convert_to_numpy(value)
                value = float(value)
            numbers[key] = value
        return numbers

    module.pythonify_logs = functools.wraps(module.pythonify_logs)(pythonify_logs)


def let_profile(module) -> None:
    """Let `TensorBoard` trace batches, which it does on backends that it knows by name."""
    module.backend = Profiled(module.backend)


def say_tensorflow(module) -> None:
    """Have Keras's public `backend()` say "tensorflow" where gradtape stands for that, as programs branch on the name."""
    chosen = module.backend

    @functools.wraps(chosen)
    def backend():
        name = chosen()
        return "tensorflow" if name == NAME and door_is_open() else name

    module.backend = backend


def keep_64_bits(module) -> None:
    """64 bits are real here: "int" is int64, as with TensorFlow, and no dtype is narrowed by a promotion.

    Only uint32 with int32 is not made wider: Keras's tests want what JAX gives there.
    """
    promoted = module._lattice_result_type

    def _lattice_result_type(*types):
        found = promoted(*types)
        return "int32" if found == "int64" and "uint32" in types and not {"int64", "uint64"} & {*types} else found

    module._lattice_result_type = _lattice_result_type
    module.PYTHON_DTYPES_MAP |= {int: "int64", "int": "int64"}
    module.BIT64_TO_BIT32_DTYPE.clear()


def extend_dynamic_backend(module) -> None:
    """Let `DynamicBackend` of Keras 3.15 be set to this backend; 3.16 knows it. TensorFlow's, which datasets ask for, is this one
    where TensorFlow is not loaded.

    Where a program has put gradtape under TensorFlow's name into `sys.modules`, its functions are no graphs of TensorFlow's.
    """
    asks_tensorflow, converted = module.in_tf_graph, module.convert_tf_tensor

    def convert_tf_tensor(outputs, dtype=None):
        return outputs if isinstance(outputs, tensorflow.RaggedTensor) else converted(outputs, dtype)

    module.convert_tf_tensor = convert_tf_tensor
    module.in_tf_graph = lambda: not stands_for_tensorflow() and asks_tensorflow()
    if hasattr(module, BACKENDS):
        return
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

    kind.__getattr__, kind.set_backend = __getattr__, set_backend


def stands_for_tensorflow() -> bool:
    """Whether the module `tensorflow` of this process has gradtape's names."""
    loaded, own = sys.modules.get("tensorflow"), sys.modules.get("gradtape")
    return own is not None and getattr(loaded, "Tensor", None) is own.Tensor


def tensorflow_is_loaded() -> bool:
    """Whether this process has loaded TensorFlow itself."""
    return "tensorflow" in sys.modules and not stands_for_tensorflow()


def keep_op_errors(module) -> None:
    """Keep the class of an op's error where Keras adds the arguments of a call, as Keras makes errors of a message alone.

    Arguments that are tensors are called `tf.Tensor`, as on TensorFlow; Keras has no name for those of other backends.
    """
    add_arguments, formatted = module.inject_argument_info_in_traceback, module.format_argument_value

    def inject_argument_info_in_traceback(fn, object_name=None):
        call = add_arguments(fn, object_name)

        def error_handler(*args, **kwargs):
            try:
                return call(*args, **kwargs)
            except RuntimeError as error:
                first: Any = error.__context__
                if not (hasattr(error, "_keras_call_info_injected") and hasattr(first, "node_def")):
                    raise
                told: Any = type(first)(first.node_def, first.op, str(error))
                told._keras_call_info_injected = True
                raise told.with_traceback(error.__traceback__) from None

        return error_handler

    def format_argument_value(value):
        text = formatted(value)
        return text.replace("array", "tf.Tensor", 1) if module.backend.is_tensor(value) else text

    module.inject_argument_info_in_traceback = inject_argument_info_in_traceback
    module.format_argument_value = format_argument_value


def give_tensorflow(module) -> None:
    """Give gradtape to code that is written with TensorFlow's names: `tf.keras.backend`, datasets of series, `adapt` of a
    dataset, the seed of all random numbers, how shapes and dtypes are saved.
    """
    module.tf = TensorFlow()


def know_datasets(module) -> None:
    """Have `split_dataset` take gradtape's datasets for those of `tf.data`, which it tells by the names of their classes."""
    is_other = module.is_tf_dataset
    module.is_tf_dataset = lambda dataset: isinstance(dataset, tensorflow.data.Dataset) or is_other(dataset)


def encode_rows(module) -> None:
    """Have rows of different lengths encoded by classes, as TensorFlow's backend does: what fills a row up is no class."""
    utils = module.numerical_utils

    def encode_categorical_inputs(inputs, *args, **kwargs):
        if isinstance(inputs, tensorflow.RaggedTensor):  # gradtape's
            inputs = inputs.to_tensor(-1)
        return utils.encode_categorical_inputs(inputs, *args, **kwargs)

    module.numerical_utils = SimpleNamespace(encode_categorical_inputs=encode_categorical_inputs)


def slice_strings(module) -> None:
    """Have arrays of strings sliced as they are: Keras asks whether their dtype, object, is one of floats."""
    backend = module.backend

    class Backend:
        def __getattr__(self, name):
            return getattr(backend, name)

        @staticmethod
        def is_float_dtype(dtype):
            return str(dtype) != "object" and backend.is_float_dtype(dtype)

    module.backend = Backend()


def save_whole(module) -> None:
    """Have models and weights written beside their file and put in its place at the end; Keras writes into the file itself.

    A folder, a file elsewhere, an object that is written to and weights in several files are written as Keras does.
    """
    endings = {"save_model": ".keras", "save_weights_only": ".weights.h5", "save_model_to_hdf5": (".h5", ".hdf5")}
    for name in endings.keys() & vars(module).keys():
        setattr(module, name, beside(getattr(module, name), endings[name]))


def beside(save, endings):
    """Keras's function `save(model, filepath, ...)`, which writes the file whole if its name ends so."""

    @functools.wraps(save)
    def saved(model, filepath, *args, **kwargs):
        path = os.fspath(filepath) if isinstance(filepath, (str, os.PathLike)) else ""
        whole = path.endswith(endings) and "://" not in path and os.path.isdir(os.path.dirname(os.path.abspath(path)))
        if not whole or os.path.isdir(path) or kwargs.get("zipped") is False:
            return save(model, filepath, *args, **kwargs)
        from gradtape._src.core import devices, hooks
        from gradtape._src.files.whole import replacing

        def write():
            with replacing(path) as part:
                save(model, part, *args, **kwargs)

        variables = [*model.variables, *getattr(getattr(model, "optimizer", None), "variables", ())]
        if devices.in_parts([variable.value.held().value for variable in variables]):
            write()  # all processes have to read them
        else:
            hooks.clients.once(path, write)

    return saved


def load_whole(module) -> None:
    """Have an error of a file that is read name the file, and leave the weights of the model as they were."""
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

    module.load_model, module.load_weights = model_loaded, weights_loaded


@contextlib.contextmanager
def named(filepath):
    """Add the name of a file to an error that does not say it."""
    try:
        yield
    except Exception as error:
        if str(filepath) not in str(error):
            error.add_note(f"The file is {filepath}.")
        raise


def mend_loading(module) -> None:
    """TensorFlow's names, and PyTorch's optimizers: a file that Keras wrote there names those that only PyTorch can import."""
    give_tensorflow(module)
    retrieve = module._retrieve_class_or_fn

    def _retrieve_class_or_fn(name, registered_name, module, *args, **kwargs):
        if isinstance(module, str) and module.startswith("keras.src.backend.torch.optimizers."):
            module = "keras.optimizers"
        return retrieve(name, registered_name, module, *args, **kwargs)

    module._retrieve_class_or_fn = _retrieve_class_or_fn


def load_saved_models(module) -> None:
    """TFSMLayer loads the saved models of this backend; it asks for TensorFlow's, by name."""
    give_tensorflow(module)
    module.backend = Asked(module.backend)


class Asked:
    """Keras's backend for a module that works with TensorFlow's only: it says that it is that."""

    def __init__(self, backend):
        self._backend = backend

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def backend(self):
        """The name of TensorFlow's backend."""
        return "tensorflow"


def refuse_onnx(module) -> None:
    """Keras 3.15 knows a list of backends there, writes nothing for another one, and does not say so."""

    def export_onnx(model, filepath, *args, **kwargs):
        raise NotImplementedError(
            "Keras writes ONNX from TensorFlow's, JAX's and PyTorch's models only. tf.train.export_stablehlo writes this one as "
            "StableHLO; or save it with model.save('model.keras') and load that file in Keras on another backend."
        )

    module.export_onnx = export_onnx


class Profiled:
    """Keras's backend, said to be TensorFlow's: whoever asks traces batches with `backend.tensorboard`, which is ours."""

    def __init__(self, backend) -> None:
        self._backend = backend

    def backend(self):
        return "tensorflow"

    def __getattr__(self, name):
        return getattr(self._backend, name)


class TensorFlow:
    """gradtape, which the backend has imported, and what Keras asks of TensorFlow there beyond that."""

    available = True
    TypeSpec = type("TypeSpec", (), {})
    __internal__ = SimpleNamespace(tf2=SimpleNamespace(enabled=lambda: True))

    def __getattr__(self, name):
        return getattr(sys.modules["gradtape"], name)


class Backend:
    """Keras's backend, as a module that is imported before it."""

    def __getattr__(self, name):
        return getattr(importlib.import_module("keras.src.backend"), name)


class Loaded:
    """What `theirs` gives where a program has loaded TensorFlow, `ours` elsewhere."""

    def __init__(self, theirs, ours):
        self._theirs, self._ours = theirs, ours

    def __getattr__(self, name):
        return getattr(self._theirs() if tensorflow_is_loaded() else self._ours, name)


tensorflow, backend = TensorFlow(), Backend()
loaded_tensorflow = Loaded(lambda: importlib.import_module("keras.src.utils.module_utils").tensorflow, tensorflow)
loaded_backend = Loaded(lambda: importlib.import_module("keras.src.backend.tensorflow"), backend)

"""`tf.saved_model.save`: a folder with the Programs of functions as JSON, and the values of variables in safetensors."""

from __future__ import annotations

import os
from typing import Any

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import Tracked
from gradtape._src.core.engine import engine
from gradtape._src.train import storage
from gradtape._src.train.saved_model.folder import Paths, written
from gradtape._src.train.saved_model.functions import Tracer
from gradtape._src.train.saved_model.objects import Objects, functions_of
from gradtape._src.train.saved_model.signatures import canonical, wrapped
from gradtape._src.train.saved_model.writing import Writer
from gradtape._src.train.stablehlo import export_stablehlo


@public
def save(obj: Any, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Save an object with its variables and traced functions to a folder, for `tf.saved_model.load`.

    The variables, modules, lists, dicts and functions under `obj` (a `tf.Module`, Checkpoint or the like) are saved. A
    `tf.function` is saved with each signature that it was traced for, or with its input signature. Open extents remain open
    unless the function itself fixes them. An open rank is saved as the ranks of calls, or as those from 0 to 4 that the
    function supports. `signatures` is a function with an input signature, a concrete function, or a dict of these; they take
    keywords and return dicts. The default for a Keras model is its call. The folder is written atomically, and replaces an
    earlier model of `save`. It contains data and no code.

    ValueError for an object or function that cannot be saved. NotImplementedError for a function that runs as eager code.
    AssertionError for a variable that no saved object holds. AlreadyExistsError for a folder with a model of another format.

    >>> module = tf.Module()
    >>> module.scale = tf.Variable(3.0)
    >>> module.scaled = tf.function(lambda x: module.scale * x, input_signature=[tf.TensorSpec([None])])
    >>> tf.saved_model.save(module, "models/scaled")
    >>> tf.saved_model.load("models/scaled").scaled([1.0, 2.0]).numpy().tolist()
    [3.0, 6.0]
    """
    if not isinstance(obj, Tracked):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for export. Got "
            f"{obj} with type {type(obj)}."
        )
    if engine.local.trace.parent is not None or engine.graph_around() is not None:
        raise AssertionError("tf.saved_model.save is not supported inside a traced @tf.function. Move the call outside.")
    if signatures is None:
        signatures = getattr(obj, "_default_save_signature", None)  # of a Keras model, which may build its layers
    objects, writer = Objects(obj), Writer()
    if "signatures" in objects.names_of_root():
        raise ValueError(
            f"Exporting an object {obj} which has an attribute named 'signatures'. This is a reserved attribute, in which "
            "`tf.saved_model.load` stores the signatures. Delete it (`del obj.signatures`) before saving, or rename it."
        )
    given = canonical(signatures, functions_of(obj))
    once = {id(concrete): (concrete, name) for name, concrete in given.items()}  # one function may have two names
    made = {key: wrapped(concrete, name) for key, (concrete, name) in once.items()}
    named = {name: made[id(concrete)] for name, concrete in given.items()}
    objects.sign(named)
    functions = objects.written(Tracer(writer, objects.number_of))
    with written(os.fspath(export_dir)) as (paths, model):
        storage.save(paths.variables, objects.nodes, objects.arrays)
        storage.save(paths.constants, None, writer.arrays)
        model["functions"], model["programs"] = functions, writer.programs
        model["objects"], model["signatures"] = objects.entries, objects.signatures
        programs: dict[int, dict[str, str]] = {}
        for name, function in named.items():
            if id(function) not in programs:
                programs[id(function)] = _stablehlo(paths, name, function)
        model["stablehlo"] = {name: programs[id(function)] for name, function in named.items()}


def _stablehlo(paths: Paths, name: str, function: ConcreteFunction) -> dict[str, str]:
    """Write a signature as StableHLO, for other runtimes; return its file, or the reason why that is impossible."""
    file = paths.stablehlo(name)
    names = function._keywords()

    def positional(*tensors: Any) -> Any:
        return function(**dict(zip(names, tensors, strict=True)))

    try:
        export_stablehlo(positional, os.path.join(paths.folder, file), function._input_specs())
    except (ValueError, NotImplementedError, TypeError, ImportError) as error:  # ImportError: flatbuffers is optional
        return {"reason": str(error)}
    return {"file": file}

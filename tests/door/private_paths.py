"""Write the table of TensorFlow's private paths: `python tests/door/private_paths.py --write`, with TensorFlow 2.21.

Every module below `tensorflow.python` and `tensorflow.core` is imported, and what it shows is compared, by identity, with the
objects of the public names of `tf` and `tf.compat.v1`. A function that a public one wraps (`nn_ops.relu`) says itself under which
names it is exported, and a generated function of an op (`nn_ops.softplus`) stands for the public one of its name that takes the
same. Constants are those that TensorFlow exports by name. The classes and functions of `tensorflow.python.keras` are others than
Keras's: they are matched by name and namespace.

The table is `gradtape/_src/compat/door/private.txt`, a line for each module. It has the module's path below `tensorflow`, then
each of its names that is public, and after "=" the public name where that is another. A class that the module defines has a "*":

    python.ops.array_ops concat gather=compat.v1.gather gather_v2=gather
    python.ops.variables *Variable
"""

import contextlib
import functools
import importlib
import inspect
import os
import pkgutil
import sys
import types
from pathlib import Path

TABLE = Path(__file__).parents[2] / "gradtape/_src/compat/door/private.txt"
PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, types.ModuleType)
LEFT_OUT = ("__internal__", "__operators__", "raw_ops", "keras")  # Keras's names are those of the package keras


def public_names(tf):
    """The public names of each object, by its identity: those of `tf`, then those of `tf.compat.v1`."""
    found = {}
    for root, prefix in ((tf, ""), (tf.compat.v1, "compat.v1.")):
        pending, seen = [(root, prefix)], set()
        while pending:
            module, path = pending.pop(0)
            if id(module) in seen:
                continue
            seen.add(id(module))
            for name in dir(module):
                if name.startswith("_") or name in LEFT_OUT or (path + name).startswith(("compat.v1.compat", "compat.v2")):
                    continue
                value = getattr(module, name)
                if isinstance(value, types.ModuleType):
                    # Of others, Keras's are loaded when they are used, and "compat.v1" has a walk of its own.
                    if type(value).__name__ == "KerasLazyLoader" or path + name == "compat.v1":
                        continue
                    if "_api.v2" in value.__name__ or value.__name__ == "tensorflow.experimental":
                        pending.append((value, f"{path}{name}."))
                elif not isinstance(value, PLAIN):
                    found.setdefault(id(value), []).append(path + name)
    return found


def keras_names(keras):
    """The public names of Keras by their last part: {"Dense": ["keras.layers.Dense"]}."""
    found = {}
    pending = [(keras, "keras.")]
    while pending:
        module, path = pending.pop(0)
        for name, value in vars(module).items():
            if isinstance(value, types.ModuleType):
                if value.__name__.removeprefix("keras._tf_keras.") == path + name:
                    pending.append((value, f"{path}{name}."))
            elif not name.startswith("_") and isinstance(value, type | types.FunctionType):
                found.setdefault(name, []).append(path + name)
    return found


def public_of(path, name, value, public, functions, keras):
    """The public name of what the module `path` shows as `name`, or None."""
    if not isinstance(value, PLAIN) and id(value) in public:
        return best(public[id(value)], name)
    if isinstance(value, types.FunctionType) and (said := exported_as(value, public) or taking_the_same(value, functions)):
        return best(said, name)
    here = path.removeprefix("tensorflow.python.keras").lstrip(".").split(".")[0]
    if path.startswith("tensorflow.python.keras") and getattr(value, "__module__", "").startswith("tensorflow.python.keras"):
        # Of the same namespace. Where Keras has others (`engine`), a class by the shortest name, a function by its only one.
        names = keras.get(name, [])
        same = [n for n in names if n.split(".")[1] in (here, name)]
        if same or isinstance(value, type) or len(names) == 1:
            return min(same or names, key=lambda n: (n.count("."), n), default=None)
    return None


def exported_as(function, public):
    """The public names under which a function, or one that it wraps, says that it is exported, and which are there."""
    names = []
    for part in wrapped(function):
        names += [name for name in vars(part).get("_tf_api_names", ()) if name not in names]
        names += ["compat.v1." + name for name in vars(part).get("_tf_api_names_v1", ()) if name not in names]
    known = set().union(*public.values())
    return [name for name in names if name in known]


def wrapped(function):
    """A function, the one that it wraps, and so on."""
    while isinstance(function, types.FunctionType):
        yield function
        function = vars(function).get("__wrapped__")


def public_functions(tf, public):
    """The public functions of TensorFlow 2 by their last part: {"softplus": [("math.softplus", function), …]}."""
    found = {}
    for names in public.values():
        for path in names:
            if not path.startswith("compat."):
                value = functools.reduce(getattr, path.split("."), tf)
                if isinstance(value, types.FunctionType):
                    found.setdefault(path.rpartition(".")[2], []).append((path, value))
    return found


def taking_the_same(function, functions):
    """The public names of what calls a generated function of an op, in everyday use: of its name, with its parameters first."""
    if ".gen_" not in function.__module__:
        return []
    mine, name = parameters(function), function.__name__
    found = functions.get(name, ())
    return [
        path for path, other in found if begins_with(parameters(other), mine) and name in inspect.unwrap(other).__code__.co_names
    ]


def parameters(function):
    """The parameters of a function without `name`: their names and defaults."""
    return [(p.name, p.default) for p in inspect.signature(function).parameters.values() if p.name != "name"]


def begins_with(longer, shorter):
    """Whether parameters are those of a shorter list, and whatever stands behind them has a default."""
    first, rest = longer[: len(shorter)], longer[len(shorter) :]
    same = [(name, repr(default)) for name, default in first] == [(name, repr(default)) for name, default in shorter]
    return same and not any(default is inspect.Parameter.empty for _, default in rest)


def constants(module):
    """The constants that a module exports: their names in it, and their public ones."""
    found = {}
    for attribute, prefix in (("_tf_api_constants_v1", "compat.v1."), ("_tf_api_constants", "")):
        for names, name in getattr(module, attribute, ()):
            if shown := [n for n in names if not n.startswith("__")]:
                found[name] = prefix + min(shown, key=len)
    return found


def defined(value):
    """The module that defines a class, and its name there; None of another object."""
    return (value.__module__, value.__qualname__) if isinstance(value, type) else None


def best(names, name):
    """Of an object's public names the one that stands for its private `name`: of TensorFlow 2, of that name, short."""
    return min(names, key=lambda n: (n.startswith("compat.v1."), n.rpartition(".")[2] != name, n.count("."), len(n), n))


def modules():
    """The names of the modules of TensorFlow that are private, without tests."""
    for root in ("tensorflow.python", "tensorflow.core"):
        yield root
        folders = importlib.import_module(root).__path__
        for module in pkgutil.walk_packages(folders, f"{root}.", onerror=lambda name: None):
            parts = module.name.split(".")
            if not any(part.endswith(("_test", "_tests", "_benchmark", "_test_base")) or part == "testdata" for part in parts):
                yield module.name


def table(tf):
    """The lines of the table."""
    public, keras = public_names(tf), keras_names(importlib.import_module("keras._tf_keras.keras"))
    functions = public_functions(tf, public)
    for path in sorted(modules()):
        shown = []
        try:
            with contextlib.redirect_stdout(sys.stderr):
                module = importlib.import_module(path)
        except (Exception, SystemExit) as error:  # of a tool that wants a package more, or is no module for Python
            print(path, repr(error)[:100], file=sys.stderr)
        else:
            exported = constants(module)
            for name, value in sorted(vars(module).items()):
                there = exported.get(name) or public_of(path, name, value, public, functions, keras)
                if there is not None:
                    home = "*" if id(value) in public and defined(value) == (path, name) else ""
                    shown.append(home + (name if there == name else f"{name}={there}"))
        yield " ".join([path.removeprefix("tensorflow."), *shown])


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    text = "".join(f"{line}\n" for line in table(importlib.import_module("tensorflow")))
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)

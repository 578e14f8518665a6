"""Each change of Keras finds what it changes, or says so in a sentence with the versions that work. So does a wrong Keras."""

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import types
import warnings
import zipfile
import zipimport
from pathlib import Path
from types import SimpleNamespace

import pytest

import gradtape as tf
from keras_gradtape import edits, hook, versions
from tests.keras import edits_page
from tests.light import LIGHT

ROOT = Path(__file__).parents[2]
KERAS = versions.described(importlib.util.find_spec("keras"))
FOLDER = Path(KERAS.folder)
NEEDED = [(name, edit) for name, found in edits.of_version(KERAS.numbers).items() for edit in found]
LATER = [(name, edit) for edit in edits.EDITS for name in edit.modules.split() if edit.since > KERAS.numbers]
WORKS = re.escape("gradtape works with Keras >=3.15.1,<3.17: pip install 'keras>=3.15.1,<3.17'.")
# What the changes of syntax trees look for, under other names.
RENAMED = re.compile(r"\b(backend|tensorflow|ragged|(?<=class )(?:Loss|Metric))\b")

pytestmark = pytest.mark.usefixtures("keras")


@pytest.fixture(scope="module")
def keras():
    return tf.keras


def ids(rows):
    return [f"{name} {getattr(edit.change, '__name__', 'tree')}" for name, edit in rows]


def tree(name, rename=False):
    source = importlib.util.find_spec(name).loader.get_source(name)
    return ast.parse(RENAMED.sub(r"\1_elsewhere", source) if rename else source)


def copy(name, without=""):
    """A copy of a loaded module, without one of its names or of a name in one of its classes."""
    module = types.ModuleType(name)
    vars(module).update(vars(importlib.import_module(name)))
    kind, _, last = without.rpartition(".")
    if kind:
        known = getattr(module, kind)
        setattr(module, kind, type(kind, known.__bases__, {k: v for k, v in vars(known).items() if k not in (last, "__dict__")}))
    elif without:
        delattr(module, without)
    return module


@pytest.mark.parametrize(("name", "edit"), NEEDED, ids=ids(NEEDED))
def test_each_change_takes_and_says_so_where_it_does_not(name, edit):
    said = rf"does not run on gradtape: in {re.escape(name)} there is nothing .*: {re.escape(edit.why)}\. {WORKS}\Z"
    if edit.changes_tree:
        assert edit.change(tree(name)) > 0
        broken = [tree(name, rename=True)]
    else:
        broken = [copy(name, place) for place in edit.change(copy(name))]
        assert broken
    for subject in broken:
        with pytest.raises(RuntimeError, match=said):
            edits.change(edit, name, subject, KERAS)


@pytest.mark.parametrize(("name", "edit"), LATER, ids=ids(LATER))
def test_a_change_for_a_later_version_says_so(name, edit):
    with pytest.raises(RuntimeError, match=WORKS):
        edits.change(edit, name, copy(name), KERAS)


def test_nothing_is_changed_by_half():
    """A change of several names, one of which is gone, leaves the others as they are."""
    (edit,) = [edit for edit in edits.EDITS if edit.modules == "keras.src.backend.common.dtypes"]
    module = copy("keras.src.backend.common.dtypes", "BIT64_TO_BIT32_DTYPE")
    before = dict(vars(module))
    with pytest.raises(RuntimeError, match=WORKS):
        edits.change(edit, module.__name__, module, KERAS)
    assert vars(module) == before


CHAIN = """
if backend() == "jax":
    import jax as module
elif backend() == "torch":
    import torch as module
else:
    raise RuntimeError("no backend")
"""


def test_an_arm_is_added_before_the_error():
    changed = ast.parse(CHAIN)
    assert edits.arm("import gradtape as module")(changed) == 1
    end = "elif backend() == 'gradtape':\n    import gradtape as module\nelse:\n    raise RuntimeError('no backend')"
    assert ast.unparse(changed).strip().endswith(end)


@pytest.mark.parametrize(
    "source", ["x = 1", "if sys.platform == 'win32':\n    pass\nelse:\n    raise OSError", CHAIN.partition("else")[0]]
)
def test_no_arm_is_added_where_none_is_wanted(source):
    changed = ast.parse(source)
    assert edits.arm("import gradtape")(changed) == 0
    assert ast.unparse(changed) == ast.unparse(ast.parse(source))


# Which Keras


@pytest.mark.parametrize("version", ["2.15.0", "3.12.4", "3.15.0"])
def test_an_older_keras_is_refused_in_a_sentence(version):
    with pytest.raises(ImportError, match=rf"\AKeras {version} \(/there\) is too old for gradtape\. {WORKS}"):
        versions.check(versions.Keras(version, "/there"), ())


@pytest.mark.parametrize("version", ["3.17.0", "3.17.0.dev1", "4.0.0"])
def test_a_newer_keras_is_tried_with_a_warning(version):
    with pytest.warns(UserWarning, match=rf"\AKeras {version} \(/there\) is newer than any .* tested with\. {WORKS}\Z"):
        versions.check(versions.Keras(version, "/there"), ())
    assert edits.of_version(versions.Keras(version, "").numbers).keys() == edits.of_version((3, 16)).keys()


@pytest.mark.parametrize("version", ["3.15.1", "3.16.0.dev2026102704", "3.16.4", "of an unknown version"])
def test_no_word_on_a_keras_that_works(version):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        versions.check(versions.Keras(version, "/there"), ())


def test_a_module_that_keras_has_no_more_is_named():
    with pytest.raises(ImportError, match=rf"it has no module keras\.src\.gone, which gradtape changes\. {WORKS}"):
        versions.check(KERAS, ["keras.src.backend", "keras.src.gone"])


def test_the_versions_are_those_that_are_installed():
    assert f'"keras{versions.VERSIONS}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_page_has_the_table():
    assert edits_page.PAGE.read_text("utf-8") == edits_page.page(), "make snapshot"


# Where Keras comes from


def loader(found, change):
    return hook.Loader(found, [edits.Edit("sample", change, "it is a sample", "never", changes_tree=True)], KERAS)


def test_a_keras_without_sources_is_told_by_name():
    frozen = SimpleNamespace(get_source=lambda name: None)
    with pytest.raises(RuntimeError, match=r"has sample without its source, from SimpleNamespace: .*module_collection_mode="):
        loader(frozen, edits.trees.import_gradtape).get_code("sample")


def test_a_keras_in_an_archive_is_changed(tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("sample.py", "from tensorflow import Tensor")
    found = zipimport.zipimporter(str(tmp_path / "app.zip"))
    spec = importlib.util.spec_from_loader("sample", loader(found, edits.trees.import_gradtape))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.Tensor is tf.Tensor


# In a process


def linked(folder, **changed):
    """A copy of Keras in `folder`, of links; `changed` are the texts of some files, by their paths below it with `__` for `/`."""
    changed = {path.replace("__", "/") + ".py": text for path, text in changed.items()}

    def link(source, target):
        target.mkdir()
        for entry in source.iterdir():
            path = entry.relative_to(FOLDER).as_posix()
            if path in changed:
                (target / entry.name).write_text(changed[path])
            elif any(name.startswith(f"{path}/") for name in changed):
                link(entry, target / entry.name)
            elif entry.name != "__pycache__":
                (target / entry.name).symlink_to(entry)

    link(FOLDER, folder / "keras")
    return folder


def run(code, *paths, starts=True):
    """Run `code` with `paths` first on the path; without `starts` Python reads no `.pth` file."""
    environment = {**os.environ, "KERAS_BACKEND": "gradtape"}
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, paths), str(ROOT), *([] if starts else filter(None, sys.path))])
    command = [sys.executable, *([] if starts else ["-S"]), "-c", LIGHT + code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_a_broken_copy_of_keras_is_an_error_at_its_import(tmp_path):
    source = (FOLDER / "src" / "utils" / "python_utils.py").read_text("utf-8")
    done = run("import keras", linked(tmp_path, src__utils__python_utils=source.replace("pythonify_logs", "elsewhere")))
    last = done.stderr.strip().splitlines()[-1]
    assert re.match(
        rf"RuntimeError: Keras {KERAS.version} \({re.escape(str(tmp_path))}/keras\) does not run on gradtape: in ", last
    )
    assert re.search(rf"keras\.src\.utils\.python_utils there is nothing .*: An interrupt is dropped .* {WORKS}\Z", last)


def test_of_two_versions_on_the_path_the_first_counts_and_the_other_is_named(tmp_path):
    text = (FOLDER / "src" / "version.py").read_text("utf-8").replace(KERAS.version, "3.12.0")
    done = run("import keras", linked(tmp_path, src__version=text))
    last = done.stderr.strip().splitlines()[-1]
    assert re.match(rf"ImportError: Keras 3\.12\.0 \({re.escape(str(tmp_path))}/keras\) is too old for gradtape\. {WORKS} ", last)
    assert last.endswith(f"Keras {KERAS.version} is installed, too, in {FOLDER}: put the folder above it first in sys.path.")


def test_where_no_pth_file_is_read_the_import_of_gradtape_is_enough():
    code = """
try:
    import keras
except ValueError as error:  # nothing of gradtape has run
    print(error)
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "keras"]:
    del sys.modules[name]
import gradtape
import keras
print(keras.backend.backend())
"""
    done = run(code, starts=False)
    said, chosen = done.stdout.splitlines() or [done.stderr, ""]
    assert (said.endswith("backend : gradtape"), chosen) == (True, "gradtape"), said

"""A saved model that is damaged or hostile is a DataLossError: nothing is loaded, and nothing is run."""

import json
import random
import re

import pytest

import gradtape as tf
from gradtape._src.train.saved_model.folder import FILE, Paths, checksum


def function(x, d):
    y = x * module_variable if tf.reduce_sum(x) > 0.0 else tf.reshape(tf.reshape(x, [x.shape[0] * 2]), [-1, 2])
    tf.debugging.assert_positive(x)
    first, _ = tf.unstack(d["k"])
    tf.print("here", first)
    return y + tf.random.normal([2]) * first, tf.concat(tf.split(y, 2, 1), 0), tf.range(x.shape[0])


module_variable = tf.Variable([1.0, 2.0])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a model, and what its file says."""
    module = tf.Module()
    module.v, module.items, module.named = module_variable, [module_variable, (tf.Variable(1),)], {"a": module_variable}
    specs = [tf.TensorSpec([None, 2]), {"k": tf.TensorSpec([2])}]
    module.f = tf.function(function, input_signature=specs)
    module.g = tf.function(lambda x: x, input_signature=specs[:1])
    folder = tmp_path_factory.mktemp("models") / "m"
    tf.saved_model.save(module, folder)
    return folder, (folder / FILE).read_text()


def load(written, change):
    """Load the model after `change(model)`, with a checksum that is right."""
    folder, text = written
    given = json.loads(text)
    change(given["model"])
    given["crc32"] = checksum(given["model"])
    (folder / FILE).write_text(json.dumps(given))
    try:
        return tf.saved_model.load(folder)
    finally:
        (folder / FILE).write_text(text)


def node(model, op):
    return next(n for p in model["programs"] for n in p["nodes"] if n["op"] == op)


def attribute(op, index, value):
    return lambda m: node(m, op)["attributes"].__setitem__(index, value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: node(m, "Mul").update(op="Nothing"), "'Nothing' is no operation that this version of gradtape can load"),
        (lambda m: node(m, "Mul").update(op="EagerPyFunc"), "'EagerPyFunc' is no operation"),
        (lambda m: node(m, "Mul").update(inputs=[10**6, 0]), "has the inputs"),
        (lambda m: node(m, "Mul").update(gives=["float32", [2]]), "where the file says"),
        (
            lambda m: node(m, "If")["attributes"].__setitem__(0, {"program": 99}),
            "holds program 99, which does not come before it",
        ),
        (attribute("Unpack", 0, 10**12), "gives 1000000000000 results"),
        (attribute("PrintV2", 2, "file:///tmp/never"), "a print writes to a file"),
        (attribute("ConcatV2", 0, {"extent": [[1, [9]]]}), "names an extent that is not among"),
        (lambda m: m["objects"][0].update(children=[["v", 99]]), "there is no number 99"),
        (lambda m: m["objects"][0].update(children=[["__class__", 1]]), "are no attributes"),
        (lambda m: m["objects"][0].update(kind="list", length=10**12), "a list has 1000000000000 items"),
        (lambda m: m["objects"].clear(), "Nothing was loaded"),
        (lambda m: m["functions"][0]["traces"][0]["ways"][0].update(variables=[0]), "object 0 is no variable"),
        (lambda m: m["functions"][0]["traces"][0]["ways"][0].update(point=[-1]), "is no shape"),
        (lambda m: m.pop("programs"), "there is no 'programs'"),
    ],
)
def test_hostile_content(written, change, text):
    with pytest.raises(tf.errors.DataLossError, match=text):
        load(written, change)


def test_any_other_value_is_an_error_or_harmless(written):
    """Values here and there replaced: a DataLossError, or a model that loads; no other error."""
    values = [None, -1, 10**12, 2**70, 1.5, "x", [], {}, [[]], {"program": 0}, {"extent": [[1, [0]]]}, "MatMul"]
    chosen, refused = random.Random(0), 0

    def change(model):
        while True:
            key = chosen.choice([*model]) if isinstance(model, dict) else chosen.randrange(len(model))
            if not isinstance(model[key], (dict, list)) or not model[key] or chosen.random() < 0.1:
                model[key] = chosen.choice(values)
                return
            model = model[key]

    for _ in range(25):
        try:
            load(written, change)
        except tf.errors.DataLossError:
            refused += 1
    assert refused > 12


@pytest.mark.parametrize("kept", [0, 10, 0.5])
def test_files_that_end_early(written, tmp_path, kept):
    folder, _ = written
    for file in [FILE, *[p.relative_to(folder) for p in (folder / "variables").iterdir()]]:
        whole = (folder / file).read_bytes()
        try:
            (folder / file).write_bytes(whole[: kept if isinstance(kept, int) else int(len(whole) * kept)])
            with pytest.raises(tf.errors.DataLossError, match=r"damaged, or is none"):
                tf.saved_model.load(folder)
        finally:
            (folder / file).write_bytes(whole)
    tf.saved_model.load(folder)


def test_a_changed_file_and_tokens(written):
    folder, text = written
    for other, error in (
        (text.replace('"ConcatV2"', '"ConcatV3"'), "its checksum is wrong"),
        ('{"format": "x"}', "its format is 'x'"),
    ):
        (folder / FILE).write_text(other)
        with pytest.raises(tf.errors.DataLossError, match=error):
            tf.saved_model.load(folder)
    (folder / FILE).write_text(re.sub(r'"token": "\w+"', '"token": "../../../../x"', text))
    with pytest.raises(tf.errors.DataLossError, match="is no token of a saved model"):
        tf.saved_model.load(folder)
    (folder / FILE).write_text(text)
    with pytest.raises(ValueError, match="is no token"):
        Paths(str(folder), "*")

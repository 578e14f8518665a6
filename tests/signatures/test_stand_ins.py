"""Names that are out of scope, and exist because libraries touch them when they are imported."""

import abc
import pickle

import pytest

import gradtape as tf
from gradtape._src.compat import stand_ins
from tests.signatures import compatibility

CLASSES = sorted(stand_ins._BASES)


def test_every_stand_in_is_a_name_of_tensorflow(count):
    unknown = [
        name for name in CLASSES if name.rpartition(".")[2] not in compatibility.TENSORFLOW[name.rpartition(".")[0] or "tf"]
    ]
    assert unknown == []
    count("stand-ins for classes", len(CLASSES))


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_can_be_made_of_a_class(name):
    kind = compatibility.find(name)
    assert isinstance(kind, type) and not isinstance(tf.constant(1.0), kind)
    expected = stand_ins.RAISED.get(name, tf.errors.UnimplementedError)
    with pytest.raises(expected, match=rf"tf\.{name} is a name only, for isinstance and annotations\. \w+"):
        kind(1, key=2)
    with pytest.raises(AttributeError, match=rf"gradtape has no tf\.{name}\.nothing\. \w+"):
        _ = kind.nothing


def test_bases():
    assert issubclass(tf.distribute.TPUStrategy, tf.distribute.Strategy)
    assert issubclass(tf.distribute.experimental.ParameterServerStrategy, tf.distribute.ParameterServerStrategy)
    assert issubclass(tf.RaggedTensorSpec, tf.TypeSpec)
    assert not isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy | tf.distribute.ParameterServerStrategy)


def test_a_class_derived_from_one():
    class Mine(tf.experimental.ExtensionType):
        x: tf.Tensor

    class Abstract(tf.distribute.Server, abc.ABC):
        @abc.abstractmethod
        def shape(self) -> tf.RaggedTensor | None: ...

    for kind in (Mine, Abstract):
        with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.(experimental\.ExtensionType|distribute\.Server) is a"):
            kind()


def test_modules():
    assert dir(tf.lite) == [*compatibility.TENSORFLOW["lite"]]
    assert tf.feature_column is tf.compat.v1.feature_column and tf.lite.Interpreter is tf.compat.v1.lite.Interpreter
    assert not hasattr(tf.raw_ops, "Batch") and not hasattr(tf.ragged, "cross")
    with pytest.raises(AttributeError, match=r"gradtape has no tf\.ragged\.cross\. Out of scope: compute with to_tensor"):
        _ = tf.ragged.cross


def test_a_script_that_tries_a_tpu():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    except ValueError as error:
        resolver = str(error)
    assert resolver.endswith("and tf.distribute.MirroredStrategy spans its devices.")


def test_options_of_several_processes():
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.NCCL
    )
    assert pickle.loads(pickle.dumps(options)) == options
    assert tf.distribute.experimental.CollectiveCommunication is tf.distribute.experimental.CommunicationImplementation
    assert tf.distribute.experimental.CommunicationOptions(implementation="nccl") == options
    assert tf.distribute.experimental.CollectiveHints(8) == tf.distribute.experimental.CommunicationOptions(bytes_per_pack=8)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda e: e.CommunicationOptions(-1), "`bytes_per_pack` must be >= 0, received -1"),
        (lambda e: e.CollectiveHints(-1), "`bytes_per_pack` must be >= 0, received -1"),
        (lambda e: e.CommunicationOptions(implementation="mpi"), "received 'mpi': give one of AUTO, RING, NCCL"),
        (lambda e: e.CommunicationOptions(implementation=3), "received 3: give one of AUTO, RING, NCCL"),
    ],
)
def test_wrong_options_of_several_processes(make, message):
    with pytest.raises(ValueError, match=message):
        make(tf.distribute.experimental)

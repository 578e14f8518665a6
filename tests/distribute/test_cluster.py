"""Clusters as scripts ask for them: what TensorFlow 2.21 answers."""

import json

import pytest

import gradtape as tf

RESOLVERS = tf.distribute.cluster_resolver
HOSTS = {"worker": ["localhost:12345", "localhost:2"], "chief": ["localhost:9"]}


@pytest.fixture
def tf_config(monkeypatch):
    """Set TF_CONFIG."""
    return lambda **config: monkeypatch.setenv("TF_CONFIG", json.dumps(config))


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def test_tasks_by_job():
    cluster = tf.train.ClusterSpec({"worker": {1: "a:1", 3: "b:2"}, "ps": ["c:1"]})
    assert cluster.as_dict() == {"worker": {1: "a:1", 3: "b:2"}, "ps": ["c:1"]}
    assert (cluster.num_tasks("worker"), cluster.task_indices("worker"), cluster.jobs) == (2, [1, 3], ["worker", "ps"])
    assert cluster.job_tasks("worker") == [None, "a:1", None, "b:2"]
    assert repr(cluster) == "ClusterSpec({'ps': ['c:1'], 'worker': {1: 'a:1', 3: 'b:2'}})"
    assert cluster == tf.train.ClusterSpec(cluster) and cluster != tf.train.ClusterSpec({}) and not tf.train.ClusterSpec({})


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda c: c.num_tasks("x"), ValueError, "No such job in cluster: 'x'"),
        (lambda c: c.job_tasks("x"), ValueError, "No such job in cluster: 'x'"),
        (lambda c: c.task_address("worker", 2), ValueError, "No task with index 2 in job 'worker'"),
        (lambda c: tf.train.ClusterSpec(3), TypeError, "`cluster` must be a dictionary"),
        (lambda c: tf.train.ClusterSpec({"a": 3}), TypeError, "The tasks for job 'a' must be a list or a dictionary"),
        (lambda c: tf.train.ClusterSpec({"a": [3]}), TypeError, "Task address 3 must be bytes or unicode"),
    ],
)
def test_what_is_not_there(ask, error, message):
    with pytest.raises(error, match=message):
        ask(tf.train.ClusterSpec(HOSTS))


def test_without_a_cluster():
    resolver = RESOLVERS.TFConfigClusterResolver()
    assert (resolver.task_type, resolver.task_id, resolver.master(), resolver.cluster_spec().as_dict()) == (None, None, "", {})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert (strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id) == (None, None)
    assert tf.distribute.MirroredStrategy().cluster_resolver is None


def test_the_cluster_of_the_environment(tf_config):
    tf_config(cluster=HOSTS, task={"type": "worker", "index": 1}, rpc_layer="grpc")
    resolver = RESOLVERS.TFConfigClusterResolver()
    assert isinstance(resolver, RESOLVERS.ClusterResolver)
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("worker", 1, "grpc")
    assert (resolver.master(), resolver.master("worker", 0)) == ("grpc://localhost:2", "grpc://localhost:12345")
    assert resolver.cluster_spec().as_dict() == HOSTS and resolver.num_accelerators() == {}
    assert RESOLVERS.TFConfigClusterResolver(task_type="chief", task_id=0).task_type == "chief"
    with pytest.raises(ValueError, match="No task with index 7 in job 'worker'"):
        resolver.master("worker", 7)


def test_one_worker(tf_config):
    tf_config(cluster={"worker": ["localhost:12345"]}, task={"type": "worker", "index": 0})
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=RESOLVERS.TFConfigClusterResolver())
    assert (strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id) == ("worker", 0)
    assert strategy.cluster_resolver.master() == "" and strategy.num_replicas_in_sync == 1
    with pytest.raises(TypeError, match="A cluster is given by the environment variable TF_CONFIG"):
        tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=3)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_variable(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG is no JSON"):
        RESOLVERS.TFConfigClusterResolver()


def test_a_cluster_that_is_given():
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1"]})
    resolver = RESOLVERS.SimpleClusterResolver(cluster, task_type="worker", task_id=1, num_accelerators={"GPU": 2})
    assert (resolver.task_type, resolver.task_id, resolver.master(), resolver.environment) == ("worker", 1, "", "")
    assert (resolver.master("worker", 0), resolver.num_accelerators(), resolver.cluster_spec()) == ("a:1", {"GPU": 2}, cluster)
    with pytest.raises(TypeError, match=r"cluster_spec must be a `tf.train.ClusterSpec`"):
        RESOLVERS.SimpleClusterResolver({"worker": ["a:1"]})

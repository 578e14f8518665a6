"""Descriptions of clusters: `tf.train.ClusterSpec`, and resolvers of this process's task."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gradtape._src.core.base.public import public


class ClusterSpec:
    """The addresses of the processes of a cluster by job: lists, or dicts from task numbers.

    >>> cluster = tf.train.ClusterSpec({"worker": ["host1:2222", "host2:2222"]})
    >>> cluster.jobs, cluster.num_tasks("worker"), cluster.task_address("worker", 1)
    (['worker'], 2, 'host2:2222')
    """

    @public
    def __init__(self, cluster: Any) -> None:
        if not isinstance(cluster, (Mapping, ClusterSpec)):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a `ClusterDef` "
                "protocol buffer"
            )
        jobs = cluster._jobs if isinstance(cluster, ClusterSpec) else cluster
        self._jobs = {job: _tasks(job, tasks) for job, tasks in jobs.items()}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    @public
    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"

    def as_dict(self) -> dict[str, Any]:
        """Return the addresses by job: a list for tasks numbered from 0 on, else a dict."""
        return {job: list(t.values()) if list(t) == list(range(len(t))) else dict(t) for job, t in self._jobs.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]

    @public
    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job; ValueError for an unknown job."""
        return len(self._job(job_name))

    @public
    def task_indices(self, job_name: str) -> list[int]:
        """Return the task numbers of a job."""
        return sorted(self._job(job_name))

    @public
    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task; ValueError for an unknown one."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    @public
    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job's tasks by number, None for missing numbers."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if not isinstance(tasks, (list, tuple, Mapping)):
        raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    found = dict(tasks) if isinstance(tasks, Mapping) else dict(enumerate(tasks))
    for address in found.values():
        if not isinstance(address, (str, bytes)):
            raise TypeError(f"Task address {address!r} must be bytes or unicode")
    return {int(index): a.decode() if isinstance(a, bytes) else a for index, a in sorted(found.items())}


class ClusterResolver:
    """Base of cluster resolvers, which determine the task of this process: `task_type` and `task_id`.

    >>> class OneHost(tf.distribute.cluster_resolver.ClusterResolver):
    ...     def cluster_spec(self):
    ...         return tf.train.ClusterSpec({"worker": ["localhost:2222"]})
    >>> OneHost().master("worker", 0)
    'localhost:2222'
    """

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        raise NotImplementedError

    @public
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task (by default this one) with the prefix `rpc_layer://`, if it is set; "" without a task."""
        kind, index = (task_type, task_id) if task_type is not None else (self.task_type, self.task_id)
        if kind is None or index is None:
            return ""
        address, layer = self.cluster_spec().task_address(kind, index), rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address

    @public
    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> Any:
        """Return the number of accelerators of a process, by kind."""
        return defaultdict(int)


class SimpleClusterResolver(ClusterResolver):
    """A resolver with a given cluster.

    >>> cluster = tf.train.ClusterSpec({"worker": ["host1:2222", "host2:2222"]})
    >>> tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, task_type="worker", task_id=1).task_id
    1
    """

    @public
    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._cluster, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id, self.environment, self.rpc_layer = task_type, task_id, environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        return self._cluster

    @public
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task, or the argument `master` without one."""
        return super().master(task_type, task_id, rpc_layer) if task_type is not None else self._master

    @public
    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> Any:
        """Return the given numbers, or 0 for each kind."""
        return self._accelerators if self._accelerators is not None else super().num_accelerators()


class TFConfigClusterResolver(ClusterResolver):
    """A resolver of the cluster in the environment variable TF_CONFIG, which is empty by default. ValueError for invalid JSON.

    >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    >>> resolver.cluster_spec().as_dict(), resolver.task_type
    ({}, None)
    """

    @public
    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = _config()
        task = config.get("task", {})
        self.task_type = task.get("type") if task_type is None else task_type
        index = task.get("index") if task_id is None else task_id
        self.task_id = None if index is None else int(index)
        self.rpc_layer = config.get("rpc_layer") if rpc_layer is None else rpc_layer
        self.environment = environment

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        return ClusterSpec(_config().get("cluster", {}))

    @public
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task, by default of this one; "" for a cluster of one process."""
        if task_type is None and sum([len(tasks) for tasks in self.cluster_spec().as_dict().values()]) < 2:
            return ""
        return super().master(task_type, task_id, rpc_layer)


def _config() -> dict[str, Any]:
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"TF_CONFIG is no JSON of a cluster and a task: {text}.")
    return found

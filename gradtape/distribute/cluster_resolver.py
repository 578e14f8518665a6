"""Resolvers of a cluster and of this process's task in it: `tf.distribute.cluster_resolver`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.distribute.cluster import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    TFConfigClusterResolver as TFConfigClusterResolver,
)

__getattr__ = _missing(__name__)

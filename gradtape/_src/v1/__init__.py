"""TensorFlow 1: graphs, sessions, and code that only these need. Lower floors call it only through `core/base/hooks`."""

from gradtape._src.core.base import hooks
from gradtape._src.v1.graphs import deferred, gradient_check, gradients, graph, interpreter, kinds, names

hooks.graphs.type = graph.Graph
hooks.graphs.refused, hooks.graphs.other = graph.refused, graph.other
hooks.graphs.passes, hooks.graphs.put_off, hooks.graphs.waits = deferred.passes, deferred.put_off, deferred.waits
hooks.graphs.stated = deferred.stated
hooks.graphs.inferred, hooks.graphs.shown = deferred.inferred, names.shown
hooks.graphs.rule, hooks.graphs.keeps, hooks.graphs.gradients = deferred.rule, deferred.keeps_gradient, gradients.in_graph
hooks.graphs.only_in_graphs = interpreter.only_in_graphs
hooks.graphs.default_session, hooks.graphs.compute_gradient = graph.get_default_session, gradient_check.in_session

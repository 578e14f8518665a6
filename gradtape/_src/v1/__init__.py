"""TensorFlow 1: graphs and sessions, and what only they need. Floors below reach it through `naming.Graphs` alone."""

from gradtape._src.core.naming import Graphs
from gradtape._src.v1.graphs import by_rank, deferred, extents, gradient_check, graph, live

Graphs.type = graph.Graph
Graphs.refused, Graphs.other = graph.refused, graph.other
Graphs.passes, Graphs.put_off, Graphs.waits = deferred.passes, deferred.put_off, deferred.waits
Graphs.inferred, Graphs.spoken = deferred.inferred, extents.spoken
Graphs.changing_loop, Graphs.only_in_graphs = by_rank.changing_loop, live.only_in_graphs
Graphs.default_session, Graphs.compute_gradient = graph.get_default_session, gradient_check.in_session

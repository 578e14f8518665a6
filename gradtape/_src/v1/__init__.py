"""TensorFlow 1: graphs and sessions, and what only they need. Floors below reach it through `core/hooks` alone."""

from gradtape._src.core.hooks import graphs
from gradtape._src.v1.graphs import by_rank, deferred, extents, gradient_check, graph, live

graphs.type = graph.Graph
graphs.refused, graphs.other = graph.refused, graph.other
graphs.passes, graphs.put_off, graphs.waits = deferred.passes, deferred.put_off, deferred.waits
graphs.inferred, graphs.spoken = deferred.inferred, extents.spoken
graphs.changing_loop, graphs.only_in_graphs = by_rank.changing_loop, live.only_in_graphs
graphs.default_session, graphs.compute_gradient = graph.get_default_session, gradient_check.in_session

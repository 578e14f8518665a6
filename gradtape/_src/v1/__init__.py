"""TensorFlow 1: graphs and sessions, and what only they need. Floors below reach it through `naming.Graphs` alone."""

from gradtape._src.core.naming import Graphs
from gradtape._src.v1.graphs import by_rank, extents, gradient_check, graph, late, live

Graphs.type = graph.Graph
Graphs.refused, Graphs.adapted, Graphs.other = graph.refused, graph.adapted, graph.other
Graphs.put_off, Graphs.waits, Graphs.spoken = late.put_off, late.waits, extents.spoken
Graphs.changing_loop, Graphs.only_in_graphs = by_rank.changing_loop, live.only_in_graphs
Graphs.default_session, Graphs.compute_gradient = graph.get_default_session, gradient_check.in_session

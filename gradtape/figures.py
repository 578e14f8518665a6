"""Figures of losses, gradients, tapes and profiles, by matplotlib (`pip install '.[pictures]'`)."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.figures.costs import profile as profile, tape as tape
from gradtape._src.figures.flow import gradient_flow as gradient_flow
from gradtape._src.figures.landscape import loss_landscape as loss_landscape

__getattr__ = _missing(__name__)

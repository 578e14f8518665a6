# A tensor has its operators as soon as there is an op that could make one.
from gradtape._src.ops import operators as operators

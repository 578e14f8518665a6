"""Programs with functions and control flow, each a function of the module `tf`: what TensorFlow gives is in programs.json.

`python -m tests.control.record`, run where TensorFlow is installed, writes it anew.
"""

from tests.control.programs import arrays, branches, derivatives, fors, functions, maps, untaken, whiles
from tests.control.programs.table import PROGRAMS

__all__ = ["PROGRAMS", "arrays", "branches", "derivatives", "fors", "functions", "maps", "untaken", "whiles"]

"""Programs as users write them, each a function of the module `tf`: what TensorFlow gives is in numbers.json."""

from tests.guide.corpus import derivatives, functions, models, pipelines, probability, sequences
from tests.guide.corpus.table import PROGRAMS

__all__ = ["PROGRAMS", "derivatives", "functions", "models", "pipelines", "probability", "sequences"]

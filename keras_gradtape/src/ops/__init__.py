"""Keras's tensor functions, in files named as Keras's."""

from keras_gradtape.src.ops import core as core, image as image, linalg as linalg, math as math, nn as nn, numpy as numpy
from keras_gradtape.src.ops.core import *  # noqa: F403

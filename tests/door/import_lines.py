"""Import lines as they stand in public scripts: examples of Keras, GANs, reinforcement learning, physics, TensorFlow 1,
and what editors complete. They were run on TensorFlow 2.21 too.
"""

# Run on TensorFlow 2.21, and must run here.
RUN = """
import tensorflow as tf
import tensorflow.keras as keras
import tensorflow.keras as K
import tensorflow.keras.backend as K
import tensorflow.keras.metrics as metrics
import tensorflow.keras.layers as L
import tensorflow.keras.applications.resnet50 as resnet
import tensorflow.keras.preprocessing.image
from tensorflow import keras
from tensorflow import keras as k
from tensorflow.keras import Input, Model, Sequential
from tensorflow.keras import activations, constraints, initializers, regularizers
from tensorflow.keras import backend as K
from tensorflow.keras import datasets, layers, models
from tensorflow.keras import layers, losses, metrics, optimizers
from tensorflow.keras import *
from tensorflow.keras import mixed_precision
from tensorflow.keras.activations import softmax, tanh
from tensorflow.keras.applications import ResNet50, VGG16
from tensorflow.keras.applications import vgg19
from tensorflow.keras.applications.efficientnet import EfficientNetB0, preprocess_input
from tensorflow.keras.applications.imagenet_utils import preprocess_input
from tensorflow.keras.applications.inception_v3 import InceptionV3, decode_predictions
from tensorflow.keras.applications.mobilenet_v2 import MobileNetV2, preprocess_input
from tensorflow.keras.applications.vgg16 import VGG16, preprocess_input
from tensorflow.keras.callbacks import CSVLogger, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from tensorflow.keras.callbacks import Callback, LearningRateScheduler, TensorBoard
from tensorflow.keras.constraints import MaxNorm, max_norm, unit_norm
from tensorflow.keras.datasets import cifar10, fashion_mnist, imdb, mnist
from tensorflow.keras.datasets.mnist import load_data
from tensorflow.keras.initializers import GlorotUniform, RandomNormal, glorot_normal
from tensorflow.keras.layers import *
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from tensorflow.keras.layers import Bidirectional, Concatenate, Embedding, LSTM, Lambda, RepeatVector, TimeDistributed
from tensorflow.keras.layers import Conv2DTranspose, LeakyReLU, Reshape, UpSampling2D, ZeroPadding2D
from tensorflow.keras.layers import RandomFlip, RandomRotation, Rescaling, Resizing
from tensorflow.keras.layers import GRU, GaussianNoise, InputSpec, Layer, SimpleRNN, multiply
from tensorflow.keras.layers import TextVectorization, StringLookup
from tensorflow.keras.losses import BinaryCrossentropy, CategoricalCrossentropy, MeanSquaredError
from tensorflow.keras.losses import binary_crossentropy, categorical_crossentropy, mse
from tensorflow.keras.metrics import AUC, Mean, MeanIoU, SparseCategoricalAccuracy
from tensorflow.keras.models import *
from tensorflow.keras.models import Model, Sequential, load_model, model_from_json, save_model
from tensorflow.keras.optimizers import SGD, Adam, RMSprop
from tensorflow.keras.optimizers.legacy import Adam
from tensorflow.keras.optimizers.schedules import CosineDecay, ExponentialDecay, LearningRateSchedule
from tensorflow.keras.preprocessing import image, sequence, text
from tensorflow.keras.preprocessing import image_dataset_from_directory
from tensorflow.keras.preprocessing.image import ImageDataGenerator, array_to_img, img_to_array, load_img
from tensorflow.keras.preprocessing.sequence import TimeseriesGenerator, pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer, one_hot, text_to_word_sequence
from tensorflow.keras.regularizers import l1, l1_l2, l2
from tensorflow.keras.saving import register_keras_serializable
from tensorflow.keras.utils import Sequence, get_file, plot_model, to_categorical
from tensorflow.keras.utils import get_custom_objects, set_random_seed
from tensorflow._api.v2.v2 import keras
from tensorflow import math
from tensorflow import Tensor, Variable, constant, function
from tensorflow import GradientTape, Module, TensorShape, float32, reduce_mean
from tensorflow import compat, config, data, debugging, errors, nn, random, train
from tensorflow import distribute, experimental, image, linalg, nest, signal, summary, test
from tensorflow.data import AUTOTUNE, Dataset
from tensorflow.image import ssim, resize
from tensorflow.math import reduce_sum, softplus, log
from tensorflow.nn import relu, softmax_cross_entropy_with_logits
from tensorflow.random import set_seed
import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()
import tensorflow.compat.v1 as tf; tf.disable_eager_execution(); tf.placeholder
import tensorflow.compat.v1 as tf; tf.enable_eager_execution()
import tensorflow.compat.v2 as tf
import tensorflow.compat.v1 as v1; v1.logging.set_verbosity(v1.logging.ERROR)
from tensorflow.compat import v1 as tf
from tensorflow.compat.v1 import ConfigProto, InteractiveSession, Session
from tensorflow.compat.v1 import logging as tflogging
from tensorflow.compat.v1.train import AdamOptimizer
import tensorflow; tensorflow.compat.v1.keras.layers
from tensorflow.python import keras
from tensorflow.python.client import device_lib
from tensorflow.python.client import timeline
from tensorflow.python.client import session as session_lib
from tensorflow.python.eager import backprop, context, def_function
from tensorflow.python.eager.backprop import GradientTape
from tensorflow.python.framework import constant_op, dtypes, ops, tensor_shape, tensor_util
from tensorflow.python.framework import function, random_seed, sparse_tensor, tensor_spec
from tensorflow.python.framework import ops; ops.reset_default_graph()
from tensorflow.python.framework import ops; ops.RegisterGradient("Mine")
from tensorflow.python.framework.ops import disable_eager_execution
from tensorflow.python.framework.ops import EagerTensor, convert_to_tensor
from tensorflow.python.framework.errors_impl import InvalidArgumentError, NotFoundError
from tensorflow.python.framework.tensor_shape import TensorShape
from tensorflow.python.ops import array_ops, control_flow_ops, math_ops
from tensorflow.python.ops import clip_ops, gradients_impl, init_ops, nn, nn_ops, random_ops, state_ops, variables
from tensorflow.python.ops import gradients_util
from tensorflow.python.ops import tensor_array_ops, variable_scope as vs
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.ops import rnn_cell
from tensorflow.python.util import deprecation, nest, tf_inspect; nest.map_structure_up_to(0, abs, -1)
from tensorflow.python.framework.composite_tensor import CompositeTensor
from tensorflow.python.framework import type_spec; type_spec.BatchableTypeSpec
from tensorflow.python.autograph.pyct import transformer; transformer.Base
from tensorflow.python.ops.parallel_for.control_flow_ops import pfor
from tensorflow.python.ops.parallel_for.gradients import batch_jacobian, jacobian
from tensorflow.python.ops.linalg.linear_operator_addition import add_operators
import tensorflow as tf; tf.__internal__.CompositeTensor
from tensorflow.python.ops import gen_math_ops
from tensorflow.python.ops.distributions import kullback_leibler
from tensorflow.python.ops.math_ops import reduce_mean, reduce_sum
from tensorflow.python.ops.nn import softmax
from tensorflow.python.ops.numpy_ops import np_config
from tensorflow.python.ops.variables import Variable
from tensorflow.python.platform import gfile, test, tf_logging as logging
from tensorflow.python.saved_model import tag_constants
from tensorflow.python.training import moving_averages, optimizer
from tensorflow.python.util import nest, tf_inspect
from tensorflow.python.keras import Model, Sequential, optimizers
from tensorflow.python.keras import backend as K
from tensorflow.python.keras.callbacks import EarlyStopping, ModelCheckpoint
from tensorflow.python.keras.engine import data_adapter
from tensorflow.python.keras.layers import Activation, Convolution2D, Dense, Dropout, Flatten
from tensorflow.python.keras.layers.core import Dense
from tensorflow.python.keras.losses import BinaryCrossentropy
from tensorflow.python.keras.models import Sequential, load_model
from tensorflow.python.keras.saving.model_config import model_from_json
from tensorflow.python.keras.utils.data_utils import Sequence
from tensorflow.python.keras.utils.generic_utils import Progbar
from tensorflow.python.keras.utils.np_utils import to_categorical
from tensorflow.core.framework import summary_pb2
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.core.util import event_pb2
from tensorflow.core.example import example_pb2
from tensorflow.compat.v1.keras import backend as K
from tensorflow.linalg import LinearOperatorFullMatrix
from tensorflow.experimental import numpy as tnp
import tensorflow.experimental.numpy as tnp
import tensorflow.compat.v1.feature_column as feature_column
from tensorflow.io import gfile
from tensorflow import lookup, ragged, sparse
from tensorflow.python.util.tf_export import keras_export
""".strip().splitlines()

# Run on TensorFlow 2.21, and are errors here: what the message says.
LEFT_OUT = {
    "from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2": "Count the FLOPs",
    "from tensorflow.python.trackable.data_structures import ListWrapper": "Use list and dict",
    "from tensorflow.python.keras.backend import set_session": "Remove the call",
    "from tensorflow.lite.python import interpreter": "'tensorflow.lite' is not a package",
    "from tensorflow.compiler.tf2xla.python import xla": "gradtape has no tf.compiler. ",
}

# Fail on TensorFlow 2.21 too: what the message says here.
FAIL = {
    "from tensorflow.keras.layers.experimental import preprocessing": "has no attribute 'experimental'",
    "from tensorflow.keras.layers.experimental.preprocessing import Normalization": "has no attribute 'experimental'",
    "from tensorflow.keras.mixed_precision import experimental as mixed_precision": "cannot import name 'experimental'",
    "from tensorflow.keras.wrappers.scikit_learn import KerasClassifier": "has no attribute 'scikit_learn'",
    "from tensorflow.keras.utils import multi_gpu_model": "cannot import name 'multi_gpu_model'",
    "from tensorflow.compat.v1.keras.backend import set_session": "cannot import name 'set_session'",
    "from tensorflow.python.training.tracking import base": "has no public name",
    "from tensorflow.python.keras import models, preprocessing": "those of tensorflow.keras.preprocessing",
    "from tensorflow.python.keras.applications.vgg16 import VGG16": "those of tensorflow.keras.applications",
    "from tensorflow.python.keras.optimizers import SGD": "those of tensorflow.keras.optimizers",
    "from tensorflow.python.keras.preprocessing.image import ImageDataGenerator": "those of tensorflow.keras.preprocessing",
    "from tensorflow.contrib import rnn, slim": "gradtape has no tf.contrib. ",
    "import tensorflow.contrib.layers as layers": "gradtape has no tf.contrib. ",
    "from tensorflow.examples.tutorials.mnist import input_data": "gradtape has no tf.examples. ",
    "from tensorflow.tools.graph_transforms import TransformGraph": "gradtape has no tf.tools. ",
}

"""`tf.version`: the version of TensorFlow whose behaviour is implemented. gradtape's own is `gradtape.__version__`."""

VERSION = "2.21.0"
GIT_VERSION = "v2.21.0-rc1-5-ga481b10260d"
COMPILER_VERSION = "Clang 18.1.8"
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
KERAS_2 = ("tf_keras", "tf_keras.optimizers")  # modules of TF-Keras with Keras 3's names and with their own

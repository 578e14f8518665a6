"""The public submodules of `tensorflow.keras` in TensorFlow 2.21 with Keras 3.15."""

SUBMODULES = """
    activations applications applications.convnext applications.densenet applications.efficientnet
    applications.efficientnet_v2 applications.imagenet_utils applications.inception_resnet_v2 applications.inception_v3
    applications.mobilenet applications.mobilenet_v2 applications.mobilenet_v3 applications.nasnet applications.resnet
    applications.resnet50 applications.resnet_v2 applications.vgg16 applications.vgg19 applications.xception backend
    callbacks config constraints datasets datasets.boston_housing datasets.california_housing datasets.cifar10
    datasets.cifar100 datasets.fashion_mnist datasets.imdb datasets.mnist datasets.reuters distillation distribution
    dtype_policies export initializers layers legacy legacy.saving losses metrics mixed_precision models ops ops.image
    ops.linalg ops.nn ops.numpy optimizers optimizers.legacy optimizers.schedules preprocessing preprocessing.image
    preprocessing.sequence preprocessing.text quantizers random regularizers saving tree utils utils.bounding_boxes
    utils.legacy visualization wrappers
""".split()

"""Public questions about gradients that are None, in our own words and code. The number is that of the TensorFlow issue."""

import numpy as np

import gradtape as tf


def the_derivative_of_a_constant():  # 783
    v = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        five = tf.constant(5.0)  # <- unused
    return tape.gradient(five, v), tf.autodiff.explain(five, v)


def the_generator_gets_numpy_moments():  # 1511
    generator = tf.Variable([[0.5, -0.5]])
    discriminator = tf.Variable([[1.0], [2.0]])
    noise = tf.constant([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        fake = noise @ generator
        moments = fake.numpy().mean(axis=0, keepdims=True)  # <- left_library
        loss = tf.reduce_sum(moments @ discriminator)
    return tape.gradient(loss, generator), tf.autodiff.explain(loss, generator)


def which_of_the_ops_is_it():  # 1768
    scale = tf.Variable(0.5)
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    with tf.GradientTape() as tape:
        resized = tf.image.resize(image * scale, [8, 8])
        pixels = tf.cast(resized, tf.uint8)  # <- not_floating
        loss = tf.reduce_mean(tf.image.convert_image_dtype(pixels, tf.float32))
    return tape.gradient(loss, scale), tf.autodiff.explain(loss, scale)


def a_variable_that_is_not_in_the_expression():  # 24849
    variables = [tf.Variable(2.0), tf.Variable(3.0), tf.Variable(4.0)]
    with tf.GradientTape() as tape:
        loss = variables[0] * variables[1]  # <- unused
    return tape.gradient(loss, variables), tf.autodiff.explain(loss, variables)


def every_variable_of_a_model_with_batch_norm():  # 26404
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(3), layers.BatchNormalization(), layers.Dense(1)])
    images, labels = tf.constant([[1.0, 2.0], [3.0, 5.0], [0.0, 4.0]]), tf.constant([[1.0], [0.0], [1.0]])
    with tf.GradientTape() as tape:
        outputs = model(images, training=True)  # <- not_trainable
        loss = tf.nn.l2_loss(outputs - labels)
    return tape.gradient(loss, model.variables), tf.autodiff.explain(loss, model.variables)


def a_histogram_of_python_floats():  # 30190
    kernel = tf.Variable([[0.1, 0.2], [0.3, 0.4]])
    inputs, labels = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0, 0.0], [0.0, 1.0]])

    def loss_of(outputs):
        losses = []
        for i in range(2):
            one = tf.reduce_mean((outputs[i] - labels[i]) ** 2)
            losses.append(float(one))  # <- left_library
        return tf.convert_to_tensor(np.std(losses), tf.float32)

    with tf.GradientTape() as tape:
        loss = loss_of(inputs @ kernel)
        tape.watch(kernel)
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def the_loss_was_forgotten():  # 39611
    layers = tf.keras.layers
    text_model = tf.keras.Sequential([layers.Embedding(5, 3), layers.Bidirectional(layers.LSTM(2)), layers.Dense(5)])
    tokens = tf.constant([[0, 3, 1], [2, 2, 4]])
    with tf.GradientTape() as tape:
        text_model(tokens, training=True)
        loss = tf.reduce_sum(text_model.losses)  # <- unused
    weights = text_model.trainable_variables
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def the_loss_sums_arrays():  # 42984
    kernel = tf.Variable([[0.1], [0.2]])
    inputs = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.GradientTape() as tape:
        outputs = tf.nn.relu(inputs @ kernel)
        total = 0.0
        for row in np.array(outputs):  # <- left_library
            total = total + row**2
        loss = tf.reduce_sum(tf.convert_to_tensor(total))
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def a_complicated_loss_in_numpy():  # 50111
    position = tf.Variable([0.3, 0.7])

    def loss_of(array):
        bits = (array * 255).astype(np.uint8) & 0x0F
        return bits.sum() + np.abs(array).sum()

    with tf.GradientTape() as tape:
        loss = tf.constant(loss_of(position.numpy()))  # <- left_library
    return tape.gradient(loss, position), tf.autodiff.explain(loss, position)


def padding_written_over_in_numpy():  # 51927
    kernel = tf.Variable([[0.1], [0.2]])
    inputs, lengths = tf.ones([2, 3, 2]), [2, 3]
    with tf.GradientTape() as tape:
        outputs = tf.sigmoid(inputs @ kernel)
        masked = outputs.numpy()  # <- left_library
        for row, length in zip(masked, lengths, strict=True):
            row[length:] = 0.0
        loss = tf.reduce_mean(tf.convert_to_tensor(masked))
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def the_target_is_a_constant():  # 56968
    image = tf.ones([1, 8, 8, 1])
    with tf.GradientTape() as tape:
        tape.watch(image)
        score = tf.constant([4.4328732])  # <- unused
    return tape.gradient(score, image), tf.autodiff.explain(score, image)

"""Half-supervised recognition of birds: the pupil has to agree with a teacher."""

import gradtape as tf


def network():
    return tf.keras.Sequential([tf.keras.layers.Dense(6, activation="relu"), tf.keras.layers.Dense(3)])


def consistency(teacher_logits, pupil_logits):
    wanted = tf.stop_gradient(tf.nn.softmax(teacher_logits))  # <- stopped
    return tf.reduce_mean((tf.nn.softmax(pupil_logits) - wanted) ** 2)


pupil, teacher = network(), network()
songs = tf.random.normal([4, 5])
pupil(songs), teacher(songs)


def step(songs, noise=0.1):
    with tf.GradientTape() as tape:
        ours = pupil(songs + noise * tf.random.normal(songs.shape))
        theirs = teacher(songs)
        loss = consistency(ours, theirs)
    return tape.gradient(loss, pupil.trainable_variables)


print(step(songs))

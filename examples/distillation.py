"""Knowledge distillation (Hinton, Vinyals and Dean 2015): a small model learns from a large one's scores.

`compute_loss` is overridden; the step of `fit` stays as it is.
"""

import gradtape as tf
from examples.command import command
from examples.data import digits

keras = tf.keras
TEMPERATURE, SHARE = 3.0, 0.3  # of the labels in the loss; the rest is the teacher's


class Distiller(keras.Model):
    """A student that is trained on labels and on a teacher's scores, softened by a temperature."""

    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.trainable = False

    def call(self, x, training=None):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        of_labels = super().compute_loss(x, y, y_pred, sample_weight, training)
        soft = tf.nn.softmax(self.teacher(x, training=False) / TEMPERATURE)
        errors = tf.nn.softmax_cross_entropy_with_logits(labels=soft, logits=y_pred / TEMPERATURE)
        # The gradient of soft scores is 1/T² of that of hard ones (section 2.1).
        return SHARE * of_labels + (1 - SHARE) * TEMPERATURE**2 * tf.reduce_mean(errors)


def network(*widths):
    hidden = [keras.layers.Dense(width, activation="relu") for width in widths]
    return keras.Sequential([keras.Input([8, 8, 1]), keras.layers.Flatten(), *hidden, keras.layers.Dense(10)])


def main(epochs: int = 12, rows: int = 1437, seed: int = 0):
    """Distil a net of 256 + 128 units into one of 8."""
    keras.utils.set_random_seed(seed)
    (x, y), (x_test, y_test) = digits(rows)
    options = {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "metrics": ["accuracy"]}
    teacher, student = network(256, 128), network(8)
    teacher.compile("adam", **options)
    teacher.fit(x, y, epochs=epochs, verbose=0)
    before = [weight.numpy() for weight in teacher.weights]
    distiller = Distiller(student, teacher)
    distiller.compile(keras.optimizers.Adam(1e-2), **options)
    losses = distiller.fit(x, y, epochs=epochs, verbose=0).history["loss"]
    accuracies = {}
    student.compile("adam", **options)
    for name, model in (("teacher", teacher), ("student", student)):
        accuracies[name] = model.evaluate(x_test, y_test, verbose=0)[1]
        print(f"{name}: {model.count_params():,} weights, accuracy {accuracies[name]:.3f} on digits it has not seen")
    unchanged = all((weight.numpy() == value).all() for weight, value in zip(teacher.weights, before, strict=True))
    return losses, accuracies, unchanged


if __name__ == "__main__":
    command(main)

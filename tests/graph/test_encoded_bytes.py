"""Pictures and messages that a session reads from bytes, whose shapes the graph does not know. Numbers from TensorFlow 2.21."""

import numpy as np
import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf

EXPECTED = [-2, -1.4, -0.8, 0.4, -1.1, -0.5, -0.8, -0.2, 0.4, -0.5, 0.1, 0.7]  # of four pixels, moved and scaled
PIXELS = (np.arange(60) % 7 * 30).reshape(4, 5, 3).astype(np.uint8)


@pytest.fixture(scope="module")
def png():
    return tf2.io.encode_png(PIXELS).numpy()


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(fetches, feed_dict):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)


def test_a_picture_is_decoded_and_resized(graph, png, tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(png)
    given = tf.placeholder(tf.string, name="bytes")
    read = tf.image.decode_png(tf.read_file(str(path)), channels=3, name="reader")
    fed = tf.image.decode_jpeg(given, channels=3)
    assert (read.name, read.op.type, read.shape.as_list()) == ("reader:0", "DecodePng", [None, None, 3])
    assert (fed.name, fed.op.type) == ("DecodeJpeg:0", "DecodeJpeg")
    batch = tf.image.resize_bilinear(tf.expand_dims(tf.cast(read, tf.float32), 0), [2, 2])
    assert batch.shape.as_list() == [1, 2, 2, 3]
    found = run([read, fed, tf.divide(tf.subtract(batch, [100.0]), [50.0])], {given: png})
    np.testing.assert_array_equal(found[0], PIXELS, strict=True)
    np.testing.assert_array_equal(found[1], PIXELS, strict=True)
    np.testing.assert_allclose(found[2][0].ravel(), EXPECTED, rtol=1e-5)


def test_pictures_without_a_rank_get_one_by_set_shape(graph, png):
    given = tf.placeholder(tf.string)
    picture = tf.image.decode_image(given, channels=3)
    assert picture.shape.rank is None
    picture.set_shape([None, None, 3])
    cut = tf.image.resize_image_with_crop_or_pad(picture, 2, 7)
    assert cut.shape.as_list() == [2, 7, 3]
    expected = np.pad(PIXELS[1:3], [(0, 0), (1, 1), (0, 0)])
    np.testing.assert_array_equal(run(cut, {given: png}), expected, strict=True)


def test_each_of_a_batch_is_decoded(graph, png):
    given = tf.placeholder(tf.string, [None])
    means = tf.map_fn(
        lambda x: tf.reduce_mean(tf.image.convert_image_dtype(tf.image.decode_png(x), tf.float32)), given, tf.float32
    )
    np.testing.assert_allclose(run(means, {given: [png, png]}), [PIXELS.mean() / 255] * 2, rtol=1e-6)


def test_raw_bytes_are_numbers(graph):
    one, several = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    numbers = tf.decode_raw(one, tf.uint8)
    rows = tf.decode_raw(several, tf.int16)
    assert rows.shape.as_list() == [None, None]
    label = tf.slice(numbers, [0], [1])
    pixels = tf.reshape(tf.cast(tf.slice(numbers, [1], [4]), tf.float32), [2, 2])
    found = run([label, pixels, rows], {one: b"\x07abcd", several: [b"abcd", b"1234"]})
    assert [x.tolist() for x in found] == [[7], [[97.0, 98.0], [99.0, 100.0]], [[25185, 25699], [12849, 13363]]]


def example(**features):
    kinds = {bytes: tf2.train.BytesList, int: tf2.train.Int64List, float: tf2.train.FloatList}
    names = {bytes: "bytes_list", int: "int64_list", float: "float_list"}
    made = {}
    for name, values in features.items():
        kind = type(values[0])
        made[name] = tf2.train.Feature(**{names[kind]: kinds[kind](value=values)})
    return tf2.train.Example(features=tf2.train.Features(feature=made)).SerializeToString()


def test_one_message_is_parsed(graph):
    given = tf.placeholder(tf.string, [])
    features = {"image_raw": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(given, features)
    image = tf.decode_raw(parsed["image_raw"], tf.uint8)
    image.set_shape([4])
    assert [*run([image, parsed["label"]], {given: example(image_raw=[b"abcd"], label=[7])})[0]] == [97, 98, 99, 100]


def test_a_batch_of_messages_is_parsed(graph):
    given = tf.placeholder(tf.string, [None], name="tf_example")
    parsed = tf.parse_example(given, {"x": tf.FixedLenFeature([2], tf.float32), "ids": tf.VarLenFeature(tf.int64)})
    assert parsed["x"].shape.as_list() == [None, 2]
    summed = tf.sparse.reduce_sum(parsed["ids"], axis=1)
    messages = [example(x=[1.0, 2.0], ids=[3, 4]), example(x=[5.0, 6.0])]
    x, ids, values = run([parsed["x"], parsed["ids"], summed], {given: messages})
    assert x.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert ids.indices.tolist() == [[0, 0], [0, 1]] and ids.values.tolist() == [3, 4] and ids.dense_shape.tolist() == [2, 2]
    assert values.tolist() == [7, 0]


def test_a_picture_of_open_extents_is_transposed(graph):
    given = tf.placeholder(tf.uint8, [None, None, 3])
    turned = tf.image.transpose(given)
    assert turned.shape.as_list() == [None, None, 3]
    np.testing.assert_array_equal(run(turned, {given: PIXELS}), PIXELS.transpose(1, 0, 2), strict=True)

"""Files, and strings that hold images, sound and numbers: what TensorFlow 2.21 gives for them."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image

import talweg as tf
from talweg.formats.images import codecs

RANDOM = np.random.default_rng(0)
PIXELS = {c: RANDOM.integers(0, 256, (4, 5, c)).astype(np.uint8) for c in (1, 2, 3, 4)}
DEEP = RANDOM.integers(0, 65536, (9, 11, 4)).astype(np.uint16)
ROWS, COLUMNS = np.mgrid[0:24, 0:31]
SMOOTH = np.stack([ROWS * 9, COLUMNS * 8, (ROWS + COLUMNS) * 4], -1).astype(np.uint8)


def saved(image, form, **options):
    """A file as Pillow writes it."""
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


PICTURE = Image.fromarray(SMOOTH)
FRAMES = [Image.fromarray(np.full((6, 8, 3), value, np.uint8)) for value in (10, 200, 90)]
ANIMATION = saved(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:])


@pytest.mark.parametrize("own", [1, 2, 3, 4])
@pytest.mark.parametrize("wanted", [0, 1, 3, 4])
def test_png(own, wanted):
    found = tf.io.decode_png(tf.io.encode_png(PIXELS[own]), channels=wanted).numpy()
    assert found.shape == (4, 5, wanted or own) and found.dtype == np.uint8
    if wanted in (0, own):
        np.testing.assert_array_equal(found, PIXELS[own])
    if wanted == 3 and own == 4:
        np.testing.assert_array_equal(found, PIXELS[4][..., :3])
    if wanted == 4 and own in (1, 3):
        np.testing.assert_array_equal(found[..., 3], 255)


def test_grey_of_a_png_is_rounded_as_libpng_does():
    colours = np.array([[[214, 175, 179], [99, 223, 34], [145, 103, 254]]], np.uint8)
    found = tf.io.decode_png(tf.io.encode_png(colours), channels=1)
    assert found[0, :, 0].numpy().tolist() == [187, 164, 132]
    wide = np.array([[[55745, 41743, 33497], [20173, 2685, 4930], [11486, 53297, 42559]]])
    file = tf.io.encode_png(wide.astype(np.uint16))
    found = tf.io.decode_png(file, channels=1, dtype=tf.uint16)
    assert found[0, :, 0].numpy().tolist() == [44989, 8170, 39572]
    assert tf.io.decode_png(file, channels=1)[0, :, 0].numpy().tolist() == [175, 31, 154]


def test_a_png_with_16_bits():
    file = tf.io.encode_png(DEEP)
    np.testing.assert_array_equal(tf.io.decode_png(file, dtype=tf.uint16), DEEP)
    np.testing.assert_array_equal(tf.io.decode_png(file), DEEP >> 8)
    eight = tf.io.decode_png(tf.io.encode_png(PIXELS[3]), dtype=tf.uint16)
    np.testing.assert_array_equal(eight, PIXELS[3].astype(np.uint16) * 257)


def test_filters_of_a_png_with_16_bits():
    grey = (ROWS * 2000 + COLUMNS * 37 + RANDOM.integers(0, 300, ROWS.shape)).astype(np.uint16)
    file = saved(Image.fromarray(grey), "PNG")
    used = zlib.decompress(file[file.index(b"IDAT") + 4 : file.index(b"IEND") - 8])
    assert len({used[row * (1 + 31 * 2)] for row in range(24)}) > 1  # several filters
    np.testing.assert_array_equal(tf.io.decode_png(file, dtype=tf.uint16)[..., 0], grey)


def test_png_of_several_images():
    many = tf.io.encode_png(np.stack([PIXELS[3], PIXELS[3][::-1]]))
    assert many.shape == (2,)
    np.testing.assert_array_equal(tf.io.decode_png(many[1]), PIXELS[3][::-1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.io.decode_png(b"abc"), "Unknown image file format"),
        (lambda: tf.io.decode_png(b""), "Input is empty"),
        (lambda: tf.io.decode_png([b"abc"]), "must be scalar"),
        (lambda: tf.io.decode_png(codecs.png.SIGNATURE + b"xxxx"), "Invalid PNG"),
        (lambda: tf.io.decode_png(b"abc", channels=2), "0, 1, 3 or 4 but got 2"),
        (lambda: tf.io.decode_png(b"abc", dtype=tf.float32), "uint8 or uint16"),
        (lambda: tf.io.decode_jpeg(b"abc", ratio=3), "ratio must be 1, 2, 4, or 8"),
        (lambda: tf.io.decode_png(ANIMATION), "Got 3 frames"),
        (lambda: tf.io.decode_image(ANIMATION, channels=1), "0 or 3 for GIF"),
        (lambda: tf.io.decode_png(saved(PICTURE, "BMP")), "Use `decode_bmp`"),
        (lambda: tf.io.decode_bmp(ANIMATION), "Use `decode_gif`"),
        (lambda: tf.io.encode_png(tf.zeros([4, 5], tf.uint8)), "at least rank 3"),
        (lambda: tf.io.encode_png(tf.zeros([0, 5, 3], tf.uint8)), "at least one pixel"),
        (lambda: tf.io.encode_png(tf.zeros([4, 5, 3])), "uint8"),
        (lambda: tf.io.encode_jpeg(PIXELS[2]), "1 or 3 channels"),
        (lambda: tf.io.encode_jpeg(PIXELS[3], format="grayscale"), "expects 1 channels"),
        (lambda: tf.io.encode_jpeg(PIXELS[3], quality=200), "in \\[0,100\\]"),
        (lambda: tf.io.extract_jpeg_shape(b"abc"), "Invalid JPEG data, size 3"),
        (lambda: tf.io.decode_raw(b"123", tf.uint16), "not a multiple of 2"),
        (lambda: tf.io.decode_raw([b"12", b"3"], tf.uint8), "element 1 has size 1 != 2"),
        (lambda: tf.io.decode_raw(b"123", tf.uint16, fixed_length=3), "multiple"),
        (lambda: tf.io.decode_base64(b"abcde"), "1 modulo 4"),
        (lambda: tf.audio.decode_wav(b"abc"), "Data too short"),
        (lambda: tf.audio.encode_wav([1.0], 8000), "must be 2-dimensional"),
        (lambda: tf.audio.encode_wav([[1.0]], 0), "sample_rate must be in"),
        (lambda: tf.io.read_file(["a", "b"]), "must be scalar"),
    ],
)
def test_errors(call, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        call()


def test_jpeg():
    file = tf.io.encode_jpeg(SMOOTH)
    reference = np.asarray(Image.open(io.BytesIO(file.numpy())))
    np.testing.assert_array_equal(tf.io.decode_jpeg(file), reference)
    assert abs(reference.astype(int) - SMOOTH).max() < 12
    assert tf.io.extract_jpeg_shape(file).numpy().tolist() == [24, 31, 3]
    assert bool(tf.io.is_jpeg(file)) and not bool(tf.io.is_jpeg(b"a"))
    part = tf.io.decode_and_crop_jpeg(file, [3, 5, 7, 9])
    np.testing.assert_array_equal(part, reference[3:10, 5:14])
    assert tf.io.decode_jpeg(file, channels=1).shape == (24, 31, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 channels"):
        tf.io.decode_jpeg(file, channels=4)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_and_crop_jpeg(file, [3, 5, 70, 9])


@pytest.mark.parametrize(("ratio", "shape"), [(2, (12, 16)), (4, (6, 8)), (8, (3, 4))])
def test_a_jpeg_with_fewer_pixels(ratio, shape):
    assert tf.io.decode_jpeg(tf.io.encode_jpeg(SMOOTH), ratio=ratio).shape[:2] == shape


def test_a_jpeg_without_its_end():
    short = tf.io.encode_jpeg(SMOOTH).numpy()[:-100]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_jpeg(short)
    found = tf.io.decode_jpeg(short, try_recover_truncated=True)
    np.testing.assert_allclose(found[:8, :8].numpy().astype(int), SMOOTH[:8, :8], atol=12)
    with pytest.raises(tf.errors.InvalidArgumentError):  # the one before changed no setting
        tf.io.decode_jpeg(short)


def test_quality():
    poor, rich = (tf.image.adjust_jpeg_quality(SMOOTH, q).numpy().astype(int) for q in (5, 95))
    assert abs(poor - SMOOTH).mean() > 2 * abs(rich - SMOOTH).mean()
    floats = tf.image.adjust_jpeg_quality(SMOOTH.astype(np.float32) / 255, 50)
    assert floats.dtype == tf.float32 and float(tf.reduce_max(floats)) <= 1


def test_frames():
    found = tf.io.decode_gif(ANIMATION)
    assert found.shape == (3, 6, 8, 3)
    assert found[:, 0, 0, 0].numpy().tolist() == [10, 200, 90]
    assert tf.io.decode_image(ANIMATION).shape == (3, 6, 8, 3)
    assert tf.io.decode_image(ANIMATION, expand_animations=False).shape == (6, 8, 3)
    assert tf.io.decode_gif(tf.io.encode_png(PIXELS[3])).shape == (1, 4, 5, 3)
    assert tf.io.decode_image(saved(PICTURE, "WEBP")).shape == (1, 24, 31, 3)


def test_bmp():
    np.testing.assert_array_equal(tf.io.decode_bmp(saved(PICTURE, "BMP")), SMOOTH)
    grey = PICTURE.convert("L")
    np.testing.assert_array_equal(tf.io.decode_bmp(saved(grey, "BMP"))[..., 0], np.asarray(grey))
    assert tf.io.decode_image(saved(PICTURE, "BMP"), channels=4)[0, 0, 3] == 255


def test_palettes_and_bits():
    few = PICTURE.convert("P")
    assert tf.io.decode_png(saved(few, "PNG")).shape == (24, 31, 3)
    assert tf.io.decode_png(saved(few, "PNG", transparency=3)).shape == (24, 31, 4)
    bits = tf.io.decode_png(saved(PICTURE.convert("1"), "PNG"))
    assert bits.shape == (24, 31, 1) and np.unique(bits).tolist() == [0, 255]


def test_dtypes_of_decode_image():
    file = tf.io.encode_png(np.full([1, 1, 1], 214, np.uint8))
    assert tf.io.decode_image(file, dtype=tf.uint16).numpy().item() == 54998
    assert tf.io.decode_image(file, dtype=tf.int32).numpy().item() == 1802174464
    assert tf.io.decode_image(file, dtype=tf.float32).numpy().item() == np.float32(0.8392157)
    jpeg = tf.io.encode_jpeg(SMOOTH)
    eight, wide = tf.io.decode_image(jpeg), tf.io.decode_image(jpeg, dtype=tf.uint16)
    np.testing.assert_array_equal(wide, eight.numpy().astype(int) * 256)


def test_shapes_in_graphs():
    shapes = {}

    @tf.function
    def traced(data):
        shapes["png"] = tf.io.decode_png(data, channels=3).shape.as_list()
        shapes["any"] = tf.io.decode_image(data).shape.rank
        first = tf.io.decode_image(data, channels=3, expand_animations=False)
        shapes["first"] = first.shape.as_list()
        shapes["gif"] = tf.io.decode_gif(data).shape.as_list()
        shapes["sound"] = tf.audio.decode_wav(data, 1, 5).audio.shape.as_list()
        shapes["raw"] = tf.io.decode_raw(data, tf.uint16, fixed_length=4).shape.as_list()
        return tf.reduce_sum(tf.cast(first, tf.int32))

    traced.get_concrete_function(tf.TensorSpec([], tf.string))
    assert shapes == {
        "png": [None, None, 3],
        "any": None,
        "first": [None, None, 3],
        "gif": [None, None, None, 3],
        "sound": [5, 1],
        "raw": [2],
    }
    alone = tf.function(lambda data: tf.shape(tf.io.decode_png(data)))
    assert alone(tf.io.encode_png(PIXELS[3])).numpy().tolist() == [4, 5, 3]


def test_wav():
    sound = np.array([[0.0, 0.5], [-1.0, 1.0], [0.25, 2.0]], np.float32)
    file = tf.audio.encode_wav(sound, 16000)
    assert file.numpy().hex().endswith("64617461" + "0c000000" + "000000400080ff7f0020ff7f")
    found, rate = tf.audio.decode_wav(file)
    most = np.float32(0.9999695)
    np.testing.assert_array_equal(found, np.array([[0, 0.5], [-1, most], [0.25, most]], "f"))
    assert rate.numpy() == 16000
    assert tf.audio.decode_wav(file, desired_channels=1).audio.shape == (3, 1)
    three = tf.audio.decode_wav(file, desired_channels=3).audio.numpy()
    np.testing.assert_array_equal(three[:, 2], three[:, 1])
    longer = tf.audio.decode_wav(file, desired_samples=5).audio.numpy()
    assert longer.shape == (5, 2) and not longer[3:].any()
    with pytest.raises(tf.errors.InvalidArgumentError, match="too short"):
        tf.audio.decode_wav(file.numpy()[:50])


def test_files(tmp_path):
    path = str(tmp_path / "a" / "b.txt")
    assert tf.io.write_file(path, b"hello") is None
    assert tf.io.read_file(path).numpy() == b"hello"
    assert tf.io.matching_files(f"{tmp_path}/*/*").numpy().tolist() == [path.encode()]
    assert tf.io.matching_files(f"{tmp_path}/zz*").shape == (0,)
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.io.read_file(str(tmp_path / "none"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        tf.io.read_file(str(tmp_path))
    with pytest.raises(TypeError):
        tf.io.read_file(3)


def test_a_file_is_read_after_it_was_written(tmp_path):
    path = str(tmp_path / "file")

    @tf.function
    def twice(first, second):
        tf.io.write_file(path, first)
        before = tf.io.read_file(path)
        tf.io.write_file(path, second)
        return before, tf.io.read_file(path)

    assert [part.numpy() for part in twice("a", "b")] == [b"a", b"b"]


def test_a_pipeline_of_files(tmp_path):
    for place in range(3):
        file = tf.io.encode_png(np.full([2, 3, 3], place * 10, np.uint8))
        tf.io.write_file(str(tmp_path / f"{place}.png"), file)

    def pixels(path):
        return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), channels=3), [4, 4])

    files = tf.data.Dataset.list_files(f"{tmp_path}/*.png", shuffle=False)
    (batch,) = files.map(pixels, num_parallel_calls=2).batch(3)
    assert batch.shape == (3, 4, 4, 3) and batch[:, 0, 0, 0].numpy().tolist() == [0, 10, 20]


def test_numbers():
    four = b"\1\2\3\4"
    assert tf.io.decode_raw(four, tf.uint16).numpy().tolist() == [513, 1027]
    assert tf.io.decode_raw(four, tf.uint16, little_endian=False).numpy().tolist() == [258, 772]
    cut = tf.io.decode_raw([b"12", b"3456"], tf.uint8, fixed_length=3)
    assert cut.numpy().tolist() == [[49, 50, 0], [51, 52, 53]]


def test_codes():
    assert tf.io.encode_base64([b"ab?>", b"\xff\xfe"]).numpy().tolist() == [b"YWI_Pg", b"__4"]
    assert tf.io.encode_base64(b"a", pad=True).numpy() == b"YQ=="
    assert tf.io.decode_base64([b"_w", b"_w=="]).numpy().tolist() == [b"\xff", b"\xff"]
    packed = zlib.compress(b"abc")
    assert tf.io.decode_compressed(packed, compression_type="ZLIB").numpy() == b"abc"
    with pytest.raises(tf.errors.DataLossError):
        tf.io.decode_compressed(b"abc", "ZLIB")


def test_without_pillow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    file = tf.io.encode_png(DEEP)  # needs no Pillow
    np.testing.assert_array_equal(tf.io.decode_png(file, dtype=tf.uint16), DEEP)
    with pytest.raises(tf.errors.UnimplementedError, match=r"pip install talweg\[images\]"):
        tf.io.decode_jpeg(b"\xff\xd8\xff")


def test_what_is_known_of_a_resized_picture():
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([], tf.string), tf.TensorSpec([2], tf.int32)])
    def load(data, size):
        picture = tf.io.decode_png(data, channels=3)
        for wanted in ([2, 4], size):
            shapes.append(tf.image.resize(picture, wanted).shape.as_list())
        shapes.append(tf.image.resize(picture[None], [2, 4]).shape.as_list())
        kept = tf.image.resize(picture, [2, 4], preserve_aspect_ratio=True)
        shapes.append(kept.shape.as_list())
        return tf.image.resize(picture, size), kept

    sized, kept = load(tf.io.encode_png(PIXELS[3]), [3, 3])
    assert sized.shape == (3, 3, 3) and kept.shape == (2, 2, 3)
    assert shapes == [[2, 4, 3], [None, None, 3], [1, 2, 4, 3], [None, None, 3]]

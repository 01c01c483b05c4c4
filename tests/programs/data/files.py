"""Datasets of files, and caches, saved datasets and snapshots."""

import os
import tempfile

from programs.data import listed, spec
from programs.support import raised


def folder(**contents):
    """A new folder with files of these contents."""
    place = tempfile.mkdtemp()
    for name, data in contents.items():
        with open(os.path.join(place, name), "wb") as file:
            file.write(data)
    return place


def lines(tf, np):
    place = folder(a=b"one\r\ntwo\n\nlast", b=b"x\ny\n")
    paths = [os.path.join(place, name) for name in "ab"]
    made = tf.data.TextLineDataset
    return [
        [listed(d), spec(d)]
        for d in (
            made(paths[0]),
            made(paths),
            made(tf.data.Dataset.from_tensor_slices(paths)),
            made(paths, num_parallel_reads=2),
            made(tf.data.Dataset.list_files(place + "/*", shuffle=False)),
        )
    ]


def compressed_lines(tf, np):
    import gzip
    import zlib

    place = folder(g=gzip.compress(b"a\nb\n"), z=zlib.compress(b"c\nd"))
    return [
        listed(tf.data.TextLineDataset(os.path.join(place, name), kind))
        for name, kind in (("g", "GZIP"), ("z", "ZLIB"))
    ]


def fixed_length(tf, np):
    path = os.path.join(folder(f=bytes(range(14))), "f")
    made = tf.data.FixedLengthRecordDataset
    return [
        listed(made(path, 3, header_bytes=2)),
        listed(made(path, 5, 1, 3)),
        raised(lambda: listed(made(path, 5))),
    ]


def records(tf, np):
    place = folder()
    found = []
    for kind in ("", "GZIP", "ZLIB"):
        path = os.path.join(place, "r" + kind)
        with tf.io.TFRecordWriter(path, kind) as writer:
            for size in (0, 3, 600, 5000):
                writer.write(bytes(range(256)) * (size // 256) + b"z" * (size % 256))
        found.append(listed(tf.data.TFRecordDataset(path, kind)))
    with open(os.path.join(place, "r"), "rb") as file:
        return [[len(x) for x in f] for f in found], found[0] == found[1] == found[2], file.read(40)


def damaged_records(tf, np):
    place = folder()
    path = os.path.join(place, "r")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"abc")
        writer.write(b"def")
    with open(path, "rb") as file:
        data = file.read()
    found = []
    for number, damaged in enumerate(
        (data[:13] + b"X" + data[14:], data[:-2], data[:25], b"\x01" + data[1:])
    ):
        own = os.path.join(place, f"d{number}")
        with open(own, "wb") as file:
            file.write(damaged)
        found.append(raised(lambda own=own: listed(tf.data.TFRecordDataset(own))))
    return found, raised(lambda: listed(tf.data.TFRecordDataset(place + "/none")))


def lists_files(tf, np):
    place = folder(a1=b"", b1=b"", a2=b"")
    made = tf.data.Dataset.list_files
    names = lambda d: [os.path.basename(p).decode() for p in listed(d)]  # noqa: E731
    return [
        names(made(place + "/*", shuffle=False)),
        sorted(names(made(place + "/a*"))),
        names(made([place + "/b*", place + "/a*"], shuffle=False)),
        sorted(names(made(place + "/*", seed=3))),
        raised(lambda: made(place + "/nope*")),
    ]


def cached_in_files(tf, np):
    place = folder()
    ds = tf.data.Dataset.range(3).map(lambda x: (x, tf.fill([x], "s")))
    cached = ds.cache(os.path.join(place, "c"))
    first, second = listed(cached), listed(cached)
    return first, second, sorted(os.listdir(place))


def saved(tf, np):
    place = os.path.join(folder(), "saved")
    ds = tf.data.Dataset.range(4).map(lambda x: (x, (tf.cast(x, tf.float32), [x, x])))
    ds.save(place)
    loaded = tf.data.Dataset.load(place)
    sharded = os.path.join(folder(), "sharded")
    tf.data.Dataset.range(6).save(sharded, shard_func=lambda x: x % 2)
    return [
        listed(loaded),
        spec(loaded),
        int(loaded.cardinality()),
        sorted(listed(tf.data.Dataset.load(sharded))),
    ]


def snapshots(tf, np):
    place = os.path.join(folder(), "snapshot")
    ds = tf.data.Dataset.range(4).shuffle(4, seed=1).snapshot(place)
    return sorted(listed(ds)), listed(ds) == listed(ds)


def csv_files(tf, np):
    path = os.path.join(folder(c=b'a,b,c\n1,2.5,x\n3,,"y,z"\n5,6,w\n7,8.5,q\n'), "c")
    made = tf.data.experimental.CsvDataset
    kinds = [tf.int32, tf.constant([0.5]), tf.string]
    return [
        listed(made(path, kinds, header=True)),
        spec(made(path, kinds, header=True)),
        listed(made(path, [tf.int64, tf.string], header=True, select_cols=[0, 2])),
        listed(made(path, [tf.int64], header=True, exclude_cols=[1, 2])),
        raised(lambda: listed(made(path, [tf.int32, tf.float32, tf.string], header=True))),
        raised(lambda: listed(made(path, [tf.int32, tf.int32, tf.string], header=True))),
        raised(lambda: listed(made(path, [tf.int32], header=True))),
    ]


def csv_datasets(tf, np):
    path = os.path.join(folder(c=b'a,b,c\n1,2.5,x\n3,,"y,z"\n5,6,w\n7,8.5,q\n'), "c")
    made = tf.data.experimental.make_csv_dataset
    first = made(path, 2, label_name="c", num_epochs=1, shuffle=False)
    second = made(path, 3, shuffle=False, select_columns=["a", "c"])
    return listed(first), spec(first), listed(second.take(2)), spec(second)


PROGRAMS = [
    lines,
    compressed_lines,
    fixed_length,
    records,
    damaged_records,
    lists_files,
    cached_in_files,
    saved,
    snapshots,
    csv_files,
    csv_datasets,
]

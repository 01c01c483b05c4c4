"""Comma-separated values: what records, fields and defaults may be, in tensors and in files."""

import os
import tempfile

RECORDS = [
    b"1,b",
    b"a\rb,1",
    b"a\r",
    b"\r",
    b"\r\n",
    b"1\r\n",
    b"1,\r2",
    b"1\n2",
    b"",
    b'a,"b',
    b'"a"b',
    b'a"b',
    b'"a""b"',
    b'"a\nb"',
    b'"a\r\nb"',
    b'"a" ,b',
    b' "a"',
    b"1,,",
    b'""',
    b'"',
    b'""""',
    b'a,""',
    b"a\0b",
    b'"a","b"\r\n',
    b" 1 ",
    b"+1",
    b"0x10",
    b"1_0",
    b"1e3",
    b"nan",
    b"1e400",
    b"99999999999",
    b"9223372036854775808",
    "\u0661".encode(),
    b"caf\xe9,1",
    b'"\xe9"',
    b"x" * 140000,
]
FILES = [
    b"1,2.5,a\n,,\n3,4,5",
    b"1,2.5,caf\xe9\n",
    b"1,2,a\rb\n",
    b"1,2,a\r",
    b"1,2,a\r\n3,4,b\r\n",
    b"1,2," + b"x" * 140000 + b"\n",
    b'1,2,"a\nb"\n',
    b'1,2,"a\rb"\n',
    b"1,2,a\n\n3,4,b\n",
    b"\n",
    b"",
    b'1,2,"a',
    b'1,2,"a"b\n',
    b'1,2,a"b\n3,4,c\n',
    b"1,2\n3,4,c\n",
    b"1,2,3,4\n",
    b'1,2,""\n',
    b"\xef\xbb\xbf1,2,a\n",
    b"1,2,\n",
]


def told(function):
    """What a call gives, as text, or the class of what it raises."""
    try:
        return repr(function())[:200]
    except Exception as error:
        return type(error).__name__


def shown(tensor):
    value = tensor.numpy()
    return value[:20] if isinstance(value, bytes) else value


def decoded_records(tf, np):
    defaults = {
        "string": [[""]],
        "two": [[""], [""]],
        "three": [["d"]] * 3,
        "int": [[0]],
        "float": [[0.0]],
        "double": [tf.constant([], tf.float64)],
        "long": [tf.constant([7], tf.int64)],
        "plain": ["x", 5],
    }
    found = {}
    for record in RECORDS:
        for name, given in defaults.items():
            if name in ("int", "float", "double", "long") and b"\xe9" in record:
                continue  # TensorFlow's own error does not pass
            found[f"{record[:20]} {name}"] = told(lambda: _decoded(tf, record, given))
        found[f"{record[:20]} without quotes"] = told(
            lambda: _decoded(tf, record, [["d"]], use_quote_delim=False)
        )
    return found


def _decoded(tf, record, defaults, **options):
    return [shown(x) for x in tf.io.decode_csv(record, defaults, **options)]


def defaults_of_columns(tf, np):
    given = [
        [0, ""],
        [[0], "x"],
        ["x", 0.5],
        [1.5, "float32"],
        ["int32", "y"],
        [b"b", 1],
        [tf.int32, tf.string],
        [[], ["a"]],
        [tf.constant("q"), tf.constant(3)],
        [tf.constant([3, 4]), ""],
        [True, ""],
        ["", None],
        [[[1]], ""],
        [tf.constant([], tf.int32), tf.constant([], tf.string)],
    ]
    return [
        [told(lambda: _decoded(tf, record, one)) for record in ("1,b", ",", "2,", "b,1")]
        for one in given
    ]


def records_of_files(tf, np):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for data in FILES:
            path = os.path.join(folder, "one.csv")
            with open(path, "wb") as file:
                file.write(data)
            for number, given in enumerate(
                (
                    [1, 1.0, ""],
                    [tf.int32, tf.float32, tf.string],
                    [tf.constant([7], tf.int64), 0.5, "zz"],
                    ["int32", "x", "y"],
                    [[1], [1.0], [""]],
                )
            ):
                found[f"{data[:20]} {number}"] = told(lambda: _read(tf, path, given))
            for number, given in enumerate((None, [1, 1.0, ""], [0, 0.5, "b"], [[0], [0.0], [""]])):
                if given is None and len(data) > 1000 or data == b"1,2,a\rb\n":
                    continue  # what TensorFlow infers, it reads by Python's csv
                found[f"{data[:20]} made {number}"] = told(lambda: _made(tf, path, given))
    return found


def _read(tf, path, defaults):
    iterator, found = iter(tf.data.experimental.CsvDataset(path, defaults)), []
    for _ in range(5):
        try:
            found.append([shown(x) for x in next(iterator)])
        except StopIteration:
            break
        except tf.errors.InvalidArgumentError:
            found.append("wrong")
    return found


def _made(tf, path, defaults):
    made = tf.data.experimental.make_csv_dataset(
        path,
        2,
        column_names=["a", "b", "c"],
        column_defaults=defaults,
        header=False,
        num_epochs=1,
        shuffle=False,
    )
    dtypes = [spec.dtype.name for spec in made.element_spec.values()]
    return dtypes, [{k: v.numpy().tolist() for k, v in row.items() if k != "c"} for row in made]


PROGRAMS = [decoded_records, defaults_of_columns, records_of_files]

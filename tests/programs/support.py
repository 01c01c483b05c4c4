"""What programs share; nothing here knows which library runs them."""

import base64
import json
import zlib
from pathlib import Path

GIVEN = Path(__file__).resolve().parent / "values" / "v1_graphdefs_given.json"
making: dict[str, bytes] | None = None  # filled while the recorder runs


def raised(function):
    """The name of the class of what the call raises; None where it raises nothing."""
    try:
        function()
    except Exception as error:  # the class is what the program asks about
        return type(error).__name__
    return None


def value_or_error(call):
    """What a call gives; the class of its error."""
    found = []
    error = raised(lambda: found.append(call()))
    return found[0] if error is None else error


def answers(calls):
    """What each call gives, by its name."""
    return {name: value_or_error(call) for name, call in calls.items()}


def run(tf, fetches, feed=None):
    """The fetches in a session of their own, after the variables have been initialized."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


def static(tensor):
    """The static shape as a list, or "unknown"."""
    return "unknown" if tensor.shape.rank is None else tensor.shape.as_list()


def names(things):
    """The names of variables, tensors or operations."""
    return [thing.name for thing in things]


def dense(slices):
    """The array of an `IndexedSlicesValue`, rows of equal index added; an array as it is."""
    import numpy as np

    if not hasattr(slices, "indices"):
        return slices
    result = np.zeros(tuple(slices.dense_shape), slices.values.dtype)
    np.add.at(result, slices.indices, slices.values)
    return result


def given(key, make):
    """Bytes that TensorFlow itself made when the values were recorded.

    The recorder calls `make()` and keeps the bytes; everyone else reads what was kept.
    """
    if making is not None:
        making[key] = make()
        return making[key]
    return zlib.decompress(base64.b64decode(json.loads(GIVEN.read_text("utf-8"))[key]))


def keep():
    """Write the bytes made while recording, beside those kept before."""
    kept = json.loads(GIVEN.read_text("utf-8")) if GIVEN.exists() else {}
    for key, data in (making or {}).items():
        kept[key] = base64.b64encode(zlib.compress(data, 9)).decode("ascii")
    if kept:
        GIVEN.write_text(json.dumps(dict(sorted(kept.items())), indent=0) + "\n", "utf-8")

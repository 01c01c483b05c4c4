"""What is said of names that are not there: four messages, each with its cure."""

from pathlib import Path

import pytest

import talweg as tf
from talweg.api.export import look_up
from talweg.api.names.known import absent, describe, resolve
from talweg.api.names.never import never, rules
from talweg.api.table import TABLE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("load_op_library", "will not be there.*tf.numpy_function"),
        ("mlir", "will not be there"),
        ("tpu.experimental.Topology", "places replicas on cores of TPUs.*TPUStrategy"),
        ("compat.v1.tpu.rewrite", "drives TPUs"),
        ("raw_ops.TPUOrdinalSelector", "will not be there"),
        ("math.sqrtt", "is no name of TensorFlow 2.21; did you mean tf.math.sqrt"),
        (
            "compat.v1.placeholderr",
            "is no name of TensorFlow 2.21; did you mean tf.compat.v1.placeholder",
        ),
        ("placeholder", "a name of TensorFlow 1.*tf.compat.v1.placeholder"),
        ("nothing_like_this_name", "is no name of TensorFlow 2.21$"),
    ],
)
def test_messages(name, text):
    with pytest.raises(AttributeError, match=text.rstrip("$")):
        look_up(name)
    assert not hasattr(tf, name.split(".")[0]) or "." in name


def test_every_name_of_tensorflow_is_known():
    recorded = Path(__file__).parent.parent / "recorded"
    second = (recorded / "names.txt").read_text().split()
    first = [f"compat.v1.{name}" for name in (recorded / "names_v1.txt").read_text().split()]
    known = {name: resolve(name) for name in (*second, *first)}
    assert [n for n, k in known.items() if not (k.there or k.in_tensorflow or never(n))] == []


def test_every_rule_is_of_a_name_that_is_not_there():
    used = {never(name) for name in absent()}
    assert [rule.pattern for rule in rules() if rule not in used] == []


def test_nothing_that_is_there_will_never_be_there():
    names = [name for name in TABLE if ":" not in name]
    there = [name for name in names if never(name) is not None]
    assert [name for name in there if not name.startswith(("lite.", "compat.v1.lite."))] == []


def test_a_rule_says_what_to_use():
    assert "use tf.numpy_function" in describe("load_library")

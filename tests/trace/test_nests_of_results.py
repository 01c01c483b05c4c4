"""Results of functions come back in the nests they were returned in."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import talweg as tf
from talweg.graph import structure

Pair = collections.namedtuple("Pair", ["left", "right"])

NESTS = [
    (1, 2),
    [1, [2, 3]],
    {"b": 1, "a": 2},
    {"a": (1, {"d": 2, "c": 3}), "b": []},
    Pair(1, {"x": (2,)}),
    collections.OrderedDict([("z", 1), ("y", [2])]),
    (),
    5,
]


@pytest.mark.parametrize("nest", NESTS, ids=str)
def test_a_plan_puts_together_what_pack_does(nest):
    leaves = structure.flatten(nest)
    other = [leaf * 10 for leaf in leaves]
    found = structure.packer(nest)(iter(other))
    wanted = structure.pack(nest, other)
    assert found == wanted and type(found) is type(wanted)
    if isinstance(nest, dict):
        assert list(found) == list(nest)


@pytest.mark.parametrize("nest", NESTS[:-1], ids=str)
def test_functions_return_their_nests(nest):
    function = tf.function(lambda x: tf.nest.map_structure(lambda n: x * n, nest))
    for factor in (1, 2):
        found = function(tf.constant(factor))
        numbers = [int(np.asarray(leaf)) for leaf in tf.nest.flatten(found)]
        assert numbers == [n * factor for n in structure.flatten(nest)]
        assert type(found) is type(nest)


def test_absent_results_stay_absent():
    assert tf.function(lambda x: {"a": None, "b": (x, None)})(tf.constant(1))["b"][1] is None


def test_counters_and_chain_maps_keep_their_keys():
    """They are not made from a list of pairs: a Counter would count these."""
    from collections import ChainMap, Counter

    one = tf.constant(1.0)
    for made in (Counter(b=one, a=one), ChainMap({"b": one}, {"a": one})):
        for found in (
            tf.nest.map_structure(lambda x: x + 1.0, made),
            tf.function(lambda x, made=made: type(made)({"b": x, "a": x * 2.0}))(one),
        ):
            assert type(found) is type(made) and sorted(found) == ["a", "b"]
            assert float(found["a"]) == 2.0

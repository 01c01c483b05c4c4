"""The paths under which a module's parts are found; the results are TensorFlow's."""

from __future__ import annotations

import talweg as tf


class Part(tf.Module):
    def __init__(self, sub=None):
        super().__init__()
        self.w = tf.Variable(1.0)
        self.ws = [self.w]
        self.again, self.sub = {"x": sub}, sub


def is_variable(value):
    return isinstance(value, tf.Variable)


def paths(module, predicate, **options):
    return [path for path, _ in module._flatten(predicate=predicate, with_path=True, **options)]


def test_a_part_is_found_under_all_of_its_paths():
    outer = Part(Part())
    assert paths(outer, is_variable) == [
        *[("w",), ("ws", 0), ("again", "x", "w"), ("again", "x", "ws", 0)],
        *[("sub", "w"), ("sub", "ws", 0)],
    ]
    assert paths(outer, is_variable, recursive=False) == [("w",), ("ws", 0)]
    assert len(outer.variables) == 2 and list(outer.submodules) == [outer.sub]


def test_a_circle_of_modules():
    inner = Part()
    outer = Part(inner)
    outer.again, inner.parent = None, outer
    assert list(outer.submodules) == [inner] and len(outer.variables) == 2
    modules = paths(outer, lambda value: isinstance(value, tf.Module))
    assert modules == [("sub",), ("sub", "parent"), ("sub", "parent", "sub")]
    alone = Part()
    alone.me = alone
    assert alone.submodules == () and paths(alone, is_variable) == [
        *[("w",), ("ws", 0), ("me", "w"), ("me", "ws", 0)]
    ]


def test_what_tracks_a_part_is_no_second_path():
    """GPflow lists the parameters of Keras models by their paths."""
    module = tf.Module()
    module.w = module._track_trackable(tf.Variable(1.0), "w")
    assert paths(module, is_variable) == [("w",)]
    assert "_self_unconditional_dependency_names" in tf.Module._TF_MODULE_IGNORED_PROPERTIES

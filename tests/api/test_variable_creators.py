"""tf.variable_creator_scope: nested, in functions, in graphs."""

from __future__ import annotations

import talweg as tf

v1 = tf.compat.v1


def named(prefix, seen=None):
    def creator(next_creator, **kwargs):
        if seen is not None:
            seen.append((prefix, sorted(kwargs)))
        kwargs["name"] = f"{prefix}_{kwargs['name']}"
        return next_creator(**kwargs)

    return creator


def test_the_innermost_is_asked_first():
    with tf.variable_creator_scope(named("outer")), tf.variable_creator_scope(named("inner")):
        v = tf.Variable(1.0, name="v")
    assert v.name == "outer_inner_v:0"
    assert tf.Variable(1.0, name="w").name == "w:0"


def test_all_keywords_are_given():
    seen = []
    with tf.variable_creator_scope(named("a", seen)):
        tf.Variable(1.0, False, name="v")
    wanted = {"initial_value", "trainable", "name", "dtype", "shape", "constraint", "aggregation"}
    wanted |= {"synchronization", "validate_shape", "caching_device", "variable_def"}
    assert wanted <= set(seen[0][1])


def test_another_value_may_take_the_place():
    with tf.variable_creator_scope(lambda next_creator, **kwargs: "stand-in"):
        assert tf.Variable(1.0) == "stand-in"


def test_inside_of_functions():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(2.0, name="w"))
        return made[0] * x

    with tf.variable_creator_scope(named("scope")):
        assert float(f(3.0)) == 6.0
    assert made[0].name == "scope_w:0"


def test_in_graphs():
    with tf.Graph().as_default(), v1.variable_creator_scope(named("g")):
        v = v1.get_variable("v", [2])
        w = tf.Variable([1.0], name="w")
    assert "g_" in w.name and v.shape == [2]


def test_name_scopes_in_force():
    assert tf.get_current_name_scope() == ""
    with tf.name_scope("a"), tf.name_scope("b"):
        assert tf.get_current_name_scope() == "a/b"
    with tf.Graph().as_default(), tf.name_scope("g"):
        assert tf.get_current_name_scope() == "g"

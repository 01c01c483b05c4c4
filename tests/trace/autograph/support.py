"""Traced functions must do what the same Python code does with tensors that have values."""

import numpy as np

import talweg as tf


def values(result):
    """The numbers of a nest of tensors."""
    return [np.asarray(leaf) for leaf in tf.nest.flatten(result)]


def agree(function, *cases, signature=None):
    """Trace `function` once for each kind of case; it must give what it gives eagerly."""
    traced = tf.function(function, input_signature=signature)
    for case in cases:
        case = case if isinstance(case, tuple) else (case,)
        arguments = [tf.constant(x) if isinstance(x, (int, float, list)) else x for x in case]
        got, wanted = values(traced(*arguments)), values(function(*arguments))
        assert len(got) == len(wanted), (case, got, wanted)
        for one, other in zip(got, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=str(case))
    return traced

"""Lists that a loop over tensors makes longer, as results."""

import talweg as tf


@tf.function
def doubled(count):
    found = []
    for i in tf.range(count):
        found.append(i * 2)
    return found


def test_the_caller_gets_a_list():
    found = doubled(tf.constant(3))
    assert [x.numpy() for x in found] == [0, 2, 4]
    assert doubled(tf.constant(0)) == []


def test_another_function_may_go_on_with_it():
    @tf.function
    def stacked(count):
        return tf.stack(doubled(count)), doubled(count)

    whole, parts = stacked(tf.constant(4))
    assert whole.numpy().tolist() == [x.numpy() for x in parts] == [0, 2, 4, 6]

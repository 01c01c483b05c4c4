"""Queues between threads: eager, in functions and in sessions; closing and cancelling."""

import threading

import pytest

import talweg as tf

v1 = tf.compat.v1


def in_thread(work):
    """A thread that does `work`, and what it gave or raised."""
    found = []

    def run():
        try:
            found.append(work())
        except tf.errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def test_dequeue_waits_for_an_element():
    queue = tf.queue.FIFOQueue(2, tf.int32)
    thread, found = in_thread(queue.dequeue)
    queue.enqueue(7)
    thread.join(20)
    assert int(found[0]) == 7


def test_enqueue_waits_for_room_and_several_come_through_a_small_queue():
    queue = tf.queue.FIFOQueue(1, tf.int32, shapes=[[]])
    thread, _ = in_thread(lambda: queue.enqueue_many([[1, 2, 3, 4]]))
    assert queue.dequeue_many(4).numpy().tolist() == [1, 2, 3, 4]
    thread.join(20)


def test_a_closed_queue_gives_what_it_has():
    queue = tf.queue.FIFOQueue(5, tf.int32, shapes=[[]])
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    assert bool(queue.is_closed())
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        queue.enqueue(4)
    with pytest.raises(tf.errors.OutOfRangeError, match="requested 4, current size 3"):
        queue.dequeue_many(4)
    assert queue.dequeue_up_to(4).numpy().tolist() == [1, 2, 3]
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue()


def test_closing_cancels_what_waits():
    queue = tf.queue.FIFOQueue(1, tf.int32)
    queue.enqueue(1)
    thread, found = in_thread(lambda: queue.enqueue(2))
    queue.close(cancel_pending_enqueues=True)
    thread.join(20)
    assert isinstance(found[0], tf.errors.CancelledError)
    assert int(queue.dequeue()) == 1


def test_names_make_dictionaries():
    queue = tf.queue.FIFOQueue(5, [tf.int32, tf.string], names=["n", "s"])
    queue.enqueue({"n": 1, "s": "a"})
    found = queue.dequeue()
    assert sorted(found) == ["n", "s"] and found["s"].numpy() == b"a"
    with pytest.raises(ValueError, match="dictionary"):
        queue.enqueue([1, "a"])
    with pytest.raises(ValueError, match="keys"):
        queue.enqueue({"n": 1})


def test_wrong_elements_are_refused():
    queue = tf.queue.FIFOQueue(5, [tf.int32, tf.float32], shapes=[[2], []])
    with pytest.raises(ValueError, match="components"):
        queue.enqueue([[1, 2]])
    with pytest.raises(ValueError, match="Shapes"):
        queue.enqueue([[1, 2, 3], 1.0])
    assert int(queue.size()) == 0


def test_shuffling_keeps_some():
    queue = tf.queue.RandomShuffleQueue(10, 3, tf.int32, shapes=[[]], seed=5)
    queue.enqueue_many([list(range(6))])
    first = queue.dequeue_many(3).numpy().tolist()
    queue.close()
    rest = queue.dequeue_up_to(10).numpy().tolist()
    assert sorted(first + rest) == list(range(6))


def test_sessions_have_elements_of_their_own():
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(10, tf.float32, shapes=[[2]])
        put, got, size = queue.enqueue([[1.0, 2.0]]), queue.dequeue(), queue.size()
        twice = got * 2
        assert got.shape == [2]
        with v1.Session() as first, v1.Session() as second:
            first.run(put)
            assert first.run(size) == 1 and second.run(size) == 0
            thread, found = in_thread(lambda: second.run(twice))
            second.run(put)
            thread.join(20)
            assert found[0].tolist() == [2.0, 4.0]
            assert first.run(size) == 1


def test_functions_use_queues():
    queue = tf.queue.FIFOQueue(10, tf.float32)

    @tf.function
    def passed(x):
        queue.enqueue(x)
        return queue.dequeue() + 1

    assert float(passed(tf.constant(3.0))) == 4.0
    assert float(passed(tf.constant(5.0))) == 6.0
    assert int(queue.size()) == 0

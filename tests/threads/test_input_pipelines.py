"""Input pipelines of TensorFlow 1: producers, readers, batches, run by threads."""

import numpy as np
import pytest

import talweg as tf

v1 = tf.compat.v1


def run_to_the_end(session, fetches):
    """All batches, until the input ends."""
    session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
    coordinator = v1.train.Coordinator()
    threads = v1.train.start_queue_runners(session, coordinator)
    found = []
    try:
        while not coordinator.should_stop():
            found.append(session.run(fetches))
    except tf.errors.OutOfRangeError:
        pass
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=20)
    return found


def test_lines_of_files_in_batches(tmp_path):
    for name, text in (("a", "1,2\n3,4\n"), ("b", "5,6\n")):
        (tmp_path / name).write_text(text)
    with tf.Graph().as_default(), v1.Session() as session:
        files = [str(tmp_path / "a"), str(tmp_path / "b")]
        names = v1.train.string_input_producer(files, num_epochs=2, shuffle=False)
        _, line = v1.TextLineReader().read(names)
        columns = v1.decode_csv(line, [[0], [0]])
        steps = v1.get_variable("steps", [], initializer=v1.zeros_initializer()).assign_add(1.0)
        batch = v1.train.batch(columns, batch_size=4, allow_smaller_final_batch=True)
        found = run_to_the_end(session, [*batch, steps])
    assert [row[0].tolist() for row in found] == [[1, 3, 5, 1], [3, 5]]
    assert [float(row[2]) for row in found] == [1.0, 2.0]


@pytest.mark.parametrize("threads", [1, 3])
def test_slices_in_random_order_come_once_an_epoch(threads):
    with tf.Graph().as_default(), v1.Session() as session:
        numbers = np.arange(12)
        x, y = v1.train.slice_input_producer([numbers, numbers * 10.0], num_epochs=1, seed=3)
        batch = v1.train.shuffle_batch(
            [x, y], 4, capacity=20, min_after_dequeue=4, num_threads=threads, seed=1
        )
        found = run_to_the_end(session, batch)
    rows = np.concatenate([row[0] for row in found])
    assert sorted(rows.tolist()) == list(range(12))
    assert np.concatenate([row[1] for row in found]).tolist() == (rows * 10.0).tolist()


def test_elements_of_different_sizes_are_filled_up():
    with tf.Graph().as_default(), v1.Session() as session:
        index = v1.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        batch = v1.train.batch([tf.range(index + 1)], 3, dynamic_pad=True)
        found = run_to_the_end(session, batch)
    assert found[0].tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_dictionaries_and_inputs_that_are_left_out():
    with tf.Graph().as_default(), v1.Session() as session:
        index = v1.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
        batch = v1.train.maybe_batch({"n": index}, tf.equal(index % 2, 0), 4)
        found = run_to_the_end(session, batch)
    assert found[0]["n"].tolist() == [0, 2, 4, 6]


def test_an_error_in_a_thread_comes_from_join():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = tf.queue.FIFOQueue(3, tf.int32)
        bad = queue.enqueue(v1.py_func(lambda: 1 // 0, [], tf.int32))
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [bad]))
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        coordinator.wait_for_stop(20)
        with pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
            coordinator.join(threads, stop_grace_period_secs=20)


def test_eager_programs_are_told():
    with pytest.raises(RuntimeError, match=r"tf\.data"):
        v1.train.batch([tf.constant(1)], 2)

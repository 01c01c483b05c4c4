"""tf.data's service, as far as one process goes, and what depends on the machine's cores."""

import pytest

import talweg as tf
from talweg.core import cores
from talweg.pipeline import combining

service = tf.data.experimental.service


def begin(workers=1):
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    return dispatcher, [
        service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
        for _ in range(workers)
    ]


def values(dataset):
    return [int(x) for x in dataset]


def test_every_worker_gives_all_or_they_share():
    dispatcher, workers = begin(2)
    dataset = tf.data.Dataset.range(4)
    epochs = dataset.apply(service.distribute("parallel_epochs", dispatcher.target))
    assert sorted(values(epochs)) == [0, 0, 1, 1, 2, 2, 3, 3]
    once = dataset.apply(service.distribute("distributed_epoch", dispatcher.target))
    assert sorted(values(once.map(lambda x: x * 2))) == [0, 2, 4, 6]
    assert int(once.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    workers.pop()
    assert values(epochs) == [0, 1, 2, 3]


def test_consumers_of_a_job_share_an_iteration():
    dispatcher, _workers = begin()
    apply = service.distribute("distributed_epoch", dispatcher.target, job_name="job")
    first, second = (iter(tf.data.Dataset.range(6).apply(apply)) for _ in range(2))
    taken = [int(next(first)), int(next(second)), int(next(first))]
    assert taken == [0, 1, 2]
    assert values(second) == [3, 4, 5] and values(first) == []


def test_datasets_are_registered():
    dispatcher, _workers = begin()
    key = service.register_dataset(dispatcher.target, tf.data.Dataset.range(3))
    assert values(service.from_dataset_id("parallel_epochs", dispatcher.target, key)) == [0, 1, 2]
    with pytest.raises(tf.errors.NotFoundError, match="register_dataset"):
        service.from_dataset_id("parallel_epochs", dispatcher.target, "9")


def test_what_is_not_in_this_process_is_unavailable(tmp_path):
    with pytest.raises(tf.errors.UnavailableError, match="no tf.data dispatcher"):
        tf.data.Dataset.range(3).apply(service.distribute("parallel_epochs", "grpc://far:5050"))
    dispatcher, _ = begin(0)
    lonely = tf.data.Dataset.range(3).apply(
        service.distribute("parallel_epochs", dispatcher.target)
    )
    with pytest.raises(tf.errors.UnavailableError, match="no worker"):
        list(lonely)
    with pytest.raises(ValueError, match="processing_mode 'x'"):
        service.distribute("x", dispatcher.target)
    with pytest.raises(ValueError, match="work_dir"):
        service.DispatchServer(service.DispatcherConfig(fault_tolerant_mode=True))
    path = str(tmp_path / "saved")
    tf.data.experimental.distributed_save(tf.data.Dataset.range(3), path, dispatcher.target)
    assert values(tf.data.Dataset.load(path)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("usable", "alone", "autotuned"), [(1, 1, 1), (2, 2, 1), (4, 4, 2), (8, 8, 3), (64, 64, 22)]
)
def test_the_number_interleaved_is_tensorflows(monkeypatch, usable, alone, autotuned):
    """Measured with a library that tells TensorFlow of so many CPUs."""
    monkeypatch.setattr(combining, "usable_cores", lambda: usable)
    assert combining.default_cycle(None) == alone
    assert combining.default_cycle(tf.data.AUTOTUNE) == autotuned
    assert combining.default_cycle(2) == min(2, usable)
    assert cores.usable_cores() >= cores.count_cores()


def test_what_interleaves_without_a_number_does_so_on_all_cores(monkeypatch):
    monkeypatch.setattr(combining, "usable_cores", lambda: 3)
    dataset = tf.data.Dataset.range(4).interleave(
        lambda x: tf.data.Dataset.range(x * 10, x * 10 + 2)
    )
    assert values(dataset) == [0, 10, 20, 1, 11, 21, 30, 31]
    assert values(tf.data.Dataset.range(3).prefetch(None)) == [0, 1, 2]


def test_an_address_belongs_to_who_has_it_now():
    """A dispatcher that was stopped and goes later takes no other one's address with it."""
    before = service.DispatchServer(service.DispatcherConfig(port=5051))
    before._stop()
    now = service.DispatchServer(service.DispatcherConfig(port=5051))
    del before
    worker = service.WorkerServer(service.WorkerConfig("localhost:5051"))
    assert values(
        tf.data.Dataset.range(3).apply(service.distribute("distributed_epoch", now.target))
    )
    del worker


def test_iterations_that_ended_are_forgotten():
    dispatcher, _workers = begin()
    apply = service.distribute("distributed_epoch", dispatcher.target, job_name="job")
    dataset = tf.data.Dataset.range(3).apply(apply)
    for _ in range(20):
        assert values(dataset) == [0, 1, 2]
    assert len(dispatcher._dispatcher.iterations) == 1


@pytest.mark.parametrize("mode", [[1], "often", None, 1])
def test_modes_that_there_are_not(mode):
    with pytest.raises(ValueError, match="processing_mode"):
        service.distribute(mode, "grpc://localhost:1")

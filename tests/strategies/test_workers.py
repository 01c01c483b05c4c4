"""Shares of datasets for workers, and clusters of Slurm, beside what TensorFlow gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import talweg as tf
from talweg.pipeline.sharding import Together, nothing, of_worker
from talweg.strategies.slurm import nodes_in, tasks_in
from tests.strategies import worker_data

RECORDED = json.loads((Path(__file__).parent / "data" / "workers.json").read_text())
ERRORS = ("InvalidArgumentError", "NotFoundError")


def share(dataset, number, workers=2, replicas=1):
    """What a worker has, batch by batch; the class of an error."""
    try:
        own = of_worker(dataset, workers, number, replicas)
        batches = [getattr(batch, "values", [batch]) for batch in own]
    except tf.errors.OpError as error:
        return type(error).__name__
    rows = [[part.numpy().astype(str).tolist() for part in parts] for parts in batches]
    return [row[0] for row in rows] if replicas == 1 else rows


@pytest.mark.parametrize("name", RECORDED["shares"])
def test_shares_are_those_of_tensorflow(name, tmp_path):
    make = worker_data.datasets(tf, tmp_path)[name]
    for number, wanted in enumerate(RECORDED["shares"][name]):
        found = share(make(), number)
        if found in ERRORS:  # TensorFlow's second worker is left with empty batches then
            assert RECORDED["shares"][name][0] == found
        else:
            assert found == wanted[: len(found)]
            assert not sum(wanted[len(found) :], [])  # empty ones, while other workers have more


@pytest.mark.parametrize("policy", ["DATA", "AUTO"])
@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_share_everything_among_them(workers, replicas, policy, tmp_path):
    files = worker_data.write_files(tmp_path)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(
        tf.data.experimental.AutoShardPolicy, policy
    )
    dataset = tf.data.TextLineDataset(files).batch(5).with_options(options)
    seen = []
    for number in range(workers):
        for row in share(dataset, number, workers, replicas):
            seen += row if replicas == 1 else sum(row, [])
    assert sorted(seen) == [f"{i}{j}" for i in range(4) for j in range(3)]


def test_hints_are_of_no_use_without_a_strategy():
    hint = tf.data.experimental.SHARD_HINT
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.data.Dataset.range(4).shard(2, 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(tf.data.Dataset.range(4).shard(hint, hint))


def test_workers_have_as_many_batches_as_the_one_with_most():
    others = iter([True, True, True, False])
    said = []

    def agree(own):
        said.append(own)
        return next(others)

    dataset = tf.data.Dataset.range(2).batch(1)
    together = tf.data.Dataset.of(Together(dataset.stage, agree, said.append), dataset)
    assert [batch.numpy().tolist() for batch in together] == [[0], [1], []]
    assert said == [True, True, False, False]


def test_an_error_of_a_dataset_is_told():
    told = []
    dataset = tf.data.TextLineDataset(["/not/there"]).batch(1)
    together = tf.data.Dataset.of(Together(dataset.stage, bool, told.append), dataset)
    with pytest.raises(tf.errors.NotFoundError):
        list(together)
    assert isinstance(told[0], tf.errors.NotFoundError)


def test_what_has_no_empty_value_is_told():
    with pytest.raises(tf.errors.InvalidArgumentError, match="different numbers of batches"):
        nothing(tf.RaggedTensorSpec([None, None]))


@pytest.mark.parametrize("name", RECORDED["slurm"])
def test_clusters_of_slurm_are_those_of_tensorflow(name):
    found = worker_data.slurm(tf, name)
    assert found == RECORDED["slurm"][name]


def test_lists_of_hosts():
    assert nodes_in("a[1-2]b[0,5],c") == ["a1b0", "a1b5", "a2b0", "a2b5", "c"]
    assert tasks_in("3,1(x2)") == [3, 1, 1]
    for wrong in ("a]", "a[1", "a[2-1]"):
        with pytest.raises(ValueError, match="Invalid"):
            nodes_in(wrong)
    with pytest.raises(ValueError, match="Invalid"):
        tasks_in("2(x")


def test_a_task_that_is_not_in_the_cluster_is_told(monkeypatch):
    config = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 2}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(tf.errors.FailedPreconditionError, match="this process is worker:2"):
        tf.distribute.MultiWorkerMirroredStrategy()

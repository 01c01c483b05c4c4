"""What workers are given: shares of datasets, tasks of Slurm.  The same text runs on TensorFlow.

`tools/record_workers.py` records what TensorFlow gives, in `data/workers.json`.
"""

from __future__ import annotations

import os
from pathlib import Path

FILES = ("f0.txt", "f1.txt", "f2.txt", "f3.txt")


def write_files(folder: Path) -> list[str]:
    """Four files of three lines each."""
    for number, name in enumerate(FILES):
        (folder / name).write_text("".join(f"{number}{line}\n" for line in range(3)))
    return [str(folder / name) for name in FILES]


def datasets(tf, folder: Path) -> dict:
    """Datasets in batches, by name; what makes each is a function."""
    files = write_files(folder)
    policies = tf.data.experimental.AutoShardPolicy
    hint = tf.data.experimental.SHARD_HINT

    def by(dataset, policy):
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = getattr(policies, policy)
        return dataset.with_options(options)

    def ranges(count, size, policy):
        return lambda: by(tf.data.Dataset.range(count).batch(size), policy)

    def lines(names, policy="AUTO", size=4):
        return lambda: by(tf.data.TextLineDataset(names).batch(size), policy)

    def interleaved():
        names = tf.data.Dataset.from_tensor_slices(files)
        read = names.interleave(tf.data.TextLineDataset, cycle_length=2)
        return read.map(lambda x: x).batch(4)

    def mapped():
        names = tf.data.Dataset.from_tensor_slices(files)
        read = names.flat_map(lambda name: tf.data.TextLineDataset(name).map(lambda x: x + "!"))
        return read.shuffle(1).cache().repeat(1).batch(4, drop_remainder=True).prefetch(2)

    def listed():
        names = tf.data.Dataset.list_files(str(folder / "f*.txt"), shuffle=False)
        return names.flat_map(tf.data.TextLineDataset).batch(4)

    found = {
        f"range {count} by {size} {policy}": ranges(count, size, policy)
        for count, size in ((7, 4), (8, 4), (3, 2), (9, 3), (5, 1))
        for policy in ("DATA", "OFF", "AUTO")
    }
    found.update(
        {
            "lines": lines(files),
            "interleaved": interleaved,
            "mapped": mapped,
            "listed": listed,
            "lines by data": lines(files, "DATA"),
            "lines of three files": lines(files[:3]),
            "lines by three": lines(files, size=3),
            "hints": lambda: by(tf.data.Dataset.range(8).shard(hint, hint).batch(4), "HINT"),
            "one file": lines(files[:1]),
            "no files": ranges(4, 2, "FILE"),
        }
    )
    return found


STEPS = {  # the environment of a task of Slurm, what the resolver is given, the GPUs that are seen
    "two": (("1", "5", "n[1-2,4]", "2(x2),1"), {}, "0,1"),
    "padded": (("2", "4", "gpu[08-10],login", "1(x4)"), {"port_base": 9000}, "0,1,2,3"),
    "jobs": (
        ("3", "4", "a,b", "2(x2)"),
        {"jobs": {"chief": 1, "worker": 3}, "rpc_layer": "x"},
        "0,1",
    ),
    "per task": (("0", "2", "a", "2"), {"gpus_per_node": 4, "gpus_per_task": 2}, "0,1,2,3"),
    "given": (("1", "4", "a,b", "2(x2)"), {"tasks_per_node": 2}, "0,1"),
    "few tasks": (("0", "2", "a", "2"), {"jobs": {"worker": 3}}, "0,1"),
    "many gpus": (("0", "2", "a", "2"), {"gpus_per_node": 1, "gpus_per_task": 2}, "0"),
    "no rank": ((None, "2", "a", "2"), {}, "0"),
    "bad list": (("0", "2", "a[", "2"), {}, "0,1"),
}
NAMES = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE")


def slurm(tf, name: str) -> list:
    """What a resolver says of a task; the class and the beginning of an error."""
    values, given, gpus = STEPS[name]
    wanted = dict(zip(NAMES, values), CUDA_VISIBLE_DEVICES=gpus)
    before = {key: os.environ.get(key) for key in wanted}
    _set(wanted)
    try:
        resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(**given)
        spec = resolver.cluster_spec().as_dict()
        own = [resolver.task_type, resolver.task_id, resolver.master(), resolver.num_accelerators()]
        return [spec, *own, os.environ["CUDA_VISIBLE_DEVICES"]]
    except (RuntimeError, ValueError) as error:
        return [type(error).__name__, str(error)[:40]]
    finally:
        _set(before)


def _set(values: dict) -> None:
    for key, value in values.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value

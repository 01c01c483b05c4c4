"""Records what TensorFlow gives two workers: tests/strategies/data/workers.json.

Run by the Python of an environment with TensorFlow, in the root of the repository.  It starts
itself once for each worker.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "strategies"))
TARGET = ROOT / "tests" / "strategies" / "data" / "workers.json"


def shares(number: int, ports: list[int], folder: str) -> dict:
    """What one worker has of each dataset, batch by batch; the class of an error."""
    import tensorflow as tf  # noqa: PLC0415 -- TF_CONFIG has to be there before
    import worker_data  # noqa: PLC0415

    del number, ports
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    found = {}
    for name, make in worker_data.datasets(tf, Path(folder)).items():
        try:
            batches = iter(strategy.experimental_distribute_dataset(make()))
            own = [strategy.experimental_local_results(batch)[0] for batch in batches]
            found[name] = [batch.numpy().astype(str).tolist() for batch in own]
        except tf.errors.OpError as error:
            found[name] = type(error).__name__
    steps = {name: worker_data.slurm(tf, name) for name in worker_data.STEPS}
    return {"shares": found, "slurm": steps}


def start_worker(number: int, ports: list[int], folder: str) -> subprocess.Popen:
    """Return a worker of two."""
    config = {
        "cluster": {"worker": [f"localhost:{port}" for port in ports]},
        "task": {"type": "worker", "index": number},
    }
    environment = {**os.environ, "TF_CONFIG": json.dumps(config), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, __file__, str(number), *map(str, ports), folder]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def main() -> None:
    if len(sys.argv) > 1:
        number, first, second, folder = sys.argv[1:]
        print(json.dumps(shares(int(number), [int(first), int(second)], folder)))
        return
    places = [socket.socket() for _ in range(2)]
    for place in places:
        place.bind(("localhost", 0))
    ports = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    with tempfile.TemporaryDirectory() as folder:
        workers = [start_worker(number, ports, folder) for number in range(2)]
        texts = [worker.communicate()[0].splitlines()[-1] for worker in workers]
    first, second = map(json.loads, texts)
    rows = {name: [first["shares"][name], second["shares"][name]] for name in first["shares"]}
    tables = {"shares": rows, "slurm": first["slurm"]}
    texts = [f'"{key}": {{\n{_lines(table)}\n}}' for key, table in tables.items()]
    TARGET.write_text("{\n" + ",\n".join(texts) + "\n}\n")


def _lines(table: dict) -> str:
    """Return a table as JSON, a row a line."""
    return ",\n".join([f"{json.dumps(key)}: {json.dumps(row)}" for key, row in table.items()])


if __name__ == "__main__":
    main()

"""Two workers on this machine, by gloo: they train as one process does, and one is killed.

The programs are in `cluster_programs.py`; each worker is a process.
"""

from __future__ import annotations

import json
import socket

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from tests.execute.xla.processes import Program

KILLED = -9


def free_ports(count):
    places = [socket.socket() for _ in range(count)]
    for place in places:
        place.bind(("localhost", 0))
    ports = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    return ports


def workers(job, executor, folder):
    """What two workers give, and their exit codes."""
    ports = ",".join(map(str, free_ports(2)))
    started = [
        Program(
            folder / f"{job}-{number}",
            "cluster_programs",
            *(job, str(number), ports, str(folder)),
            TALWEG_EXECUTOR=executor,
        )
        for number in range(2)
    ]
    found = []
    try:
        for program in started:
            code = program.wait(900)
            assert code in (0, KILLED), program.errors.read_text()[-3000:]
            out = program.output.read_text().splitlines()
            lines = [line for line in out if line.startswith("{")]  # gloo prints, too
            found.append((code, json.loads(lines[-1]) if lines else None))
    finally:
        for program in started:
            program.kill()
    return found


@pytest.fixture(scope="module", params=["auto", "xla"])
def jobs(request, tmp_path_factory):
    """What came of both jobs, under one executor."""
    folder = tmp_path_factory.mktemp("cluster")
    return [workers(job, request.param, folder) for job in ("train", "again")], request.param


@pytest.fixture
def first(jobs):
    """What the first worker found before the other one was killed."""
    (code, found), (other, _) = jobs[0][0]
    assert (code, other) == (0, KILLED)
    return found


def test_a_loop_of_ones_own_gives_what_one_process_gives(first, jobs):
    assert first["replicas"] == [2, True]
    together, alone = first["loop"]
    np.testing.assert_allclose(together, alone, 2e-6, 1e-6)
    assert bool(first["used"]) is (jobs[1] == "xla")  # one program for all devices


def test_keras_gives_what_one_process_gives(first):
    together, alone = first["network"]
    np.testing.assert_allclose(together, alone, 2e-5, 1e-6)


def test_what_replicas_exchange(first):
    found = first["exchanges"]
    # x is 2 and 3, the numbers 0 and 1: gathered are 2 and 6, whose squares both workers add up
    assert found["eager"] == [5.0, [2.0, 6.0], 8.0]
    assert found["traced"] == found["eager"]
    assert found["mean"] == 1.0 + 2 * 0.5
    assert found["first"] == 3.0
    assert found["reduced"] == [5.0, pytest.approx(1 / 3)]
    assert found["gathered"] == [0, 0, 1]
    assert found["half"] == [0.5, 1.5]


def test_the_other_one_names_a_worker_that_is_killed(first):
    assert "worker:1" in first["error"]
    assert "is gone" in first["error"]


def test_the_next_start_goes_on_from_the_last_checkpoint(jobs):
    w = np.zeros(3)
    for number in range(8):
        w = 0.5 * w + 2 * number + 1
    for code, found in jobs[0][1]:
        assert code == 0
        assert found["began"] == 4
        np.testing.assert_allclose(found["w"], w, 1e-6)


def test_summaries_and_checkpoints_that_are_kept_are_those_of_the_first_worker(jobs):
    """Every worker makes them; the second one's summaries are elsewhere."""
    assert jobs[0][1][0][1]["summaries"] == [0, 1, 2, 3, 4, 4, 5, 6, 7]


def test_keras_goes_on_from_its_backup(jobs):
    """One worker was killed in the second epoch; both run that and the last one again."""
    wanted = jobs[0][1][0][1]["without a stop"]
    assert wanted[0] == [0, 1, 2]
    for _, found in jobs[0][1]:
        assert found["backup"][0] == [1, 2]
        np.testing.assert_allclose(found["backup"][1], wanted[1], 2e-5, 1e-6)


def test_a_worker_that_runs_another_program_is_named(jobs):
    for number, (_, found) in enumerate(jobs[0][1]):
        assert f"worker:{1 - number}" in found["error"]
        assert "runs another program" in found["error"]

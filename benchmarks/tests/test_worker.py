"""The conversation with a worker: replies by value, then once through a real process."""

import sys
import time

import numpy
import pytest

from benchmarks import worker
from benchmarks.crew import Crew, Worker, WorkerLost, environment
from benchmarks.declare import Benchmark, Contender, Unfit
from benchmarks.peers import PEERS, Peer


def session(setup, **fields):
    made = Benchmark("topic.work", "work", (Contender("numpy", "", setup),), **fields)
    return worker.Session(PEERS["numpy"], {made.name: made})


def prepare(answering):
    return answering.answer({"do": "prepare", "benchmark": "topic.work", "contender": "numpy"})


def test_prepare_calls_and_reports_a_digest():
    calls = []

    def setup(np, size):
        return lambda: calls.append(1) or np.full(size, -2.0)

    reply = prepare(session(setup, parameters={"size": 3}))
    assert reply["ok"] and reply["digest"] == [2.0, 2.0] and reply["seconds"] >= 0
    assert len(calls) >= 3


def test_a_second_callable_is_what_is_compared():
    calls = []
    reply = prepare(session(lambda: (lambda: calls.append(1), lambda: [len(calls), -3.0])))
    assert reply["digest"] == [1.0, 3.0]


def test_calls_go_on_until_compilers_have_settled():
    calls = []
    worker.warm_up(lambda: calls.append(1), settle=0.0)
    assert len(calls) == worker.WARM_CALLS
    started = time.perf_counter()
    worker.warm_up(lambda: None, settle=0.03)
    assert time.perf_counter() - started >= 0.03


def test_run_calls_as_often_as_asked(monkeypatch):
    monkeypatch.setattr(worker, "IN_STEP_SECONDS", 0.0)  # so that one call gets in step
    calls = []
    answering = session(lambda: lambda: calls.append(1))
    prepare(answering)
    calls.clear()
    reply = answering.answer({"do": "run", "slot": "numpy", "iterations": 7})
    assert len(calls) == 1 + 7 and reply["wall"] >= 0 and reply["cpu"] >= 0


def test_an_untimed_benchmark_reports_its_own_figure():
    answering = session(lambda: lambda: 42.0, timed=False)
    assert prepare(answering)["seconds"] == 0
    reply = answering.answer({"do": "run", "slot": "numpy", "iterations": 1})
    assert (reply["wall"], reply["cpu"]) == (42.0, 42.0)


def test_a_failing_program_becomes_a_reply():
    def setup():
        raise ValueError("no good\nsecond line")

    reply = prepare(session(setup))
    assert reply["ok"] is False
    assert reply["error"].startswith("ValueError: no good (test_worker.py:")


def test_an_unfit_size_says_why():
    def setup():
        raise Unfit("takes minutes")

    assert prepare(session(setup)) == {"ok": False, "unfit": True, "error": "takes minutes"}


def test_release_forgets():
    answering = session(lambda: lambda: None)
    prepare(answering)
    assert answering.answer({"do": "release"})["ok"]
    assert not answering.answer({"do": "run", "slot": "numpy", "iterations": 1})["ok"]


def test_arguments_come_by_name():
    assert worker.provide("np", "talweg") is numpy
    assert worker.provide("peer", "talweg") == "talweg"
    with pytest.raises(LookupError, match="no peer 'jax' can provide 'tf'"):
        worker.provide("tf", "jax")


@pytest.mark.parametrize(
    "result, expected",
    [
        (None, []),
        (-2.0, [2.0]),
        ([numpy.ones(2), (numpy.float32(3),)], [1.0, 3.0]),
        ({"loss": 1}, [1.0]),
        (numpy.zeros(0), [0.0]),
    ],
)
def test_digests(result, expected):
    assert worker.digest(result) == expected


def test_a_real_worker_answers_and_ends():
    with Crew(["numpy"], threads=1) as crew:
        reply = crew.ask("numpy", do="prepare", benchmark="eager.scalar", contender="numpy")
        assert reply["ok"] and reply["digest"] == [3.0, 3.0]
        assert crew.ask("numpy", do="run", slot="numpy", iterations=3)["wall"] >= 0
        assert crew.versions["numpy"]["numpy"] == numpy.__version__
        process = crew.workers["numpy"].process
    assert process.poll() == 0


def test_an_absent_peer_is_remembered(monkeypatch):
    monkeypatch.setenv(PEERS["jax"].variable, "/no/such/python")
    with Crew(["jax"], threads=1) as crew:
        first = crew.ask("jax", do="release")
        assert first["absent"] and "No such file" in first["error"]
        assert crew.ask("jax", do="release") == first
        assert "/no/such" not in first["error"]


@pytest.mark.parametrize(
    "module, error", [("no_such_module", "No module named"), ("empty_folder", "no package")]
)
def test_a_peer_that_cannot_be_imported_says_so(module, error, tmp_path, monkeypatch):
    (tmp_path / "empty_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    reply = worker.Session(Peer("jax", module, ()), {}).answer({"do": "hello"})
    assert reply["ok"] is False and error in reply["error"]


def test_a_dead_worker_is_reported_and_replaced():
    with Crew(["numpy"], threads=1) as crew:
        assert crew.ask("numpy", do="release")["ok"]
        crew.workers["numpy"].process.kill()
        reply = crew.ask("numpy", do="release")
        assert reply["ok"] is False and "worker died" in reply["error"]
        assert crew.ask("numpy", do="release")["ok"]


def test_a_silent_worker_is_given_up():
    made = Worker(PEERS["numpy"], sys.executable, threads=1)
    try:
        with pytest.raises(WorkerLost, match="no answer in time"):
            made.ask(0.0, do="hello")
    finally:
        made.process.kill()
        made.close()


def test_the_environment_of_a_worker_is_small():
    made = environment(2, {"PATH": "/bin", "SECRET": "x", "PYTHONPATH": "y", "TALWEG_DEBUG": "1"})
    assert made["PATH"] == "/bin" and made["TALWEG_DEBUG"] == "1"
    assert made["OMP_NUM_THREADS"] == "2" and made["TF_NUM_INTRAOP_THREADS"] == "2"
    assert "SECRET" not in made and "PYTHONPATH" not in made

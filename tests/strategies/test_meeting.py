"""Where workers of a cluster meet: those that come, do not come, are lost, or want something else.

Each worker is a thread here; what JAX exchanges is tried by `tests/execute/xla/test_clusters.py`.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import ClassVar

import pytest

import talweg as tf
from talweg.strategies import meeting

NAMES = ["worker:0 (here)", "worker:1 (there)", "worker:2 (far)"]


class Meeting(meeting.Meeting):
    """A meeting that the test leaves when it is over."""

    made: ClassVar[list[Meeting]] = []

    def __init__(self, *arguments):
        self.made.append(self)
        super().__init__(*arguments)


@pytest.fixture(autouse=True)
def no_thread_stays():
    """What gives signs of life and listens ends with the meeting: nobody else pays for it."""
    yield
    while Meeting.made:
        Meeting.made.pop().leave()
    for thread in threading.enumerate():
        if thread.name == "talweg cluster":
            thread.join(10.0)
            assert not thread.is_alive()


@pytest.fixture
def address():
    with socket.socket() as place:
        place.bind(("localhost", 0))
        return f"localhost:{place.getsockname()[1]}"


def together(*tasks):
    """What functions give or raise that run at the same time."""
    found = [None] * len(tasks)

    def work(number, task):
        try:
            found[number] = task()
        except Exception as error:  # noqa: BLE001 -- it is looked at
            found[number] = error

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def met(address, count=2, seconds=30.0, about=("x",) * 3):
    """Meetings of so many workers; errors in the place of those that failed."""
    names = NAMES[:count]
    makers = [
        lambda k=k: Meeting(names, k, address, seconds, {"cluster": about[k]}) for k in range(count)
    ]
    return together(*makers)


@pytest.fixture
def three(address):
    return met(address, 3)


def test_all_hear_what_all_say(three):
    for number in range(3):
        said = together(*[lambda one=one: one.agree(f"{number} {one.own}", 20.0) for one in three])
        assert said == [[f"{number} 0", f"{number} 1", f"{number} 2"]] * 3


def test_a_worker_that_is_gone_is_named_to_all(three):
    three[1]._lines[0].close()
    found = together(*[lambda one=one: one.agree("here", 20.0) for one in (three[0], three[2])])
    assert [type(error) for error in found] == [tf.errors.UnavailableError] * 2
    assert all(["worker:1 (there) is gone" in str(error) for error in found])


def test_the_first_worker_that_is_gone_is_named(address):
    first, second = met(address)
    first._lines[1].close()
    with pytest.raises(tf.errors.UnavailableError, match=r"worker:0 \(here\) is gone"):
        second.agree("here", 20.0)


def test_a_worker_that_has_ended_is_named(address):
    first, second = met(address)
    second.leave()
    with pytest.raises(tf.errors.UnavailableError, match=r"worker:1 \(there\) has ended"):
        first.agree("here", 20.0)


def test_a_silent_worker_is_named(address):
    first, second = met(address, seconds=3.0)
    second._ended = True  # it gives no signs of life, as one that is stopped
    with pytest.raises(tf.errors.UnavailableError, match=r"worker:1 \(there\) has said nothing"):
        first.agree("here", 60.0)
    second.leave()


def test_a_worker_that_lives_and_does_not_come_is_named(address):
    first, second = met(address)
    with pytest.raises(tf.errors.UnavailableError, match=r"worker:1 \(there\) did not come to"):
        first.agree("here", 0.3)
    second.leave()


@pytest.mark.parametrize(("own", "missing"), [(0, "worker:1"), (1, "worker:0")])
def test_a_worker_that_never_comes_is_named(address, own, missing):
    with pytest.raises(tf.errors.UnavailableError, match=f"{missing} .* did not come within 0.5 s"):
        Meeting(NAMES[:2], own, address, 0.5, {"cluster": "x"})


def test_of_three_the_missing_one_is_named_to_those_who_came(address):
    names = NAMES
    found = together(
        lambda: Meeting(names, 0, address, 2.0, {}), lambda: Meeting(names, 1, address, 20.0, {})
    )
    assert [type(error) for error in found] == [tf.errors.UnavailableError] * 2
    assert all(["worker:2 (far) did not come" in str(error) for error in found])


def test_a_worker_of_another_cluster_is_refused(address):
    found = met(address, about=("x", "y"))
    assert [type(error) for error in found] == [tf.errors.FailedPreconditionError] * 2
    assert all(["its cluster is 'y', here it is 'x'" in str(error) for error in found])


def test_a_worker_that_comes_twice_is_refused(address):
    found = together(
        lambda: Meeting(NAMES, 0, address, 20.0, {}),
        lambda: Meeting(NAMES, 1, address, 20.0, {}),
        lambda: Meeting(NAMES, 1, address, 20.0, {}),
    )
    assert all([isinstance(error, tf.errors.FailedPreconditionError) for error in found])
    assert "worker:1 (there) came twice" in str(found[0])


def test_what_is_no_worker_is_sent_away(address):
    """Somebody who knocks at the port and says something else does not end the meeting."""
    host, _, port = address.rpartition(":")

    def stranger():
        for _ in range(100):
            with contextlib.suppress(OSError):
                knocking = socket.create_connection((host, int(port)), 1.0)
                knocking.sendall(b"GET / HTTP/1.1\r\n\r\n")
                return knocking.recv(10)
            time.sleep(0.02)
        return None

    names = NAMES[:2]

    def late():
        time.sleep(0.5)
        return Meeting(names, 1, address, 20.0, {})

    first, answer, second = together(lambda: Meeting(names, 0, address, 20.0, {}), stranger, late)
    assert not answer
    assert together(lambda: first.agree("a", 9.0), lambda: second.agree("b", 9.0)) == [
        ["a", "b"],
        ["a", "b"],
    ]


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("", 0)) as taken:
        address = f"localhost:{taken.getsockname()[1]}"
        with pytest.raises(tf.errors.FailedPreconditionError, match="cannot be used"):
            Meeting(NAMES, 0, address, 5.0, {})

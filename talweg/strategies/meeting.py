"""The meeting of a cluster's workers: each announces its next step, and hears all others.

JAX moves the values and compiles; but a worker that waits in a collective operation for one that
never comes there waits for ever, and JAX ends its process when another one is gone.  So workers
meet first, over connections to the first of them: a line of text from each, then all of the lines
to everybody.  A connection that is closed, or silent for too long, is a worker that is lost.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import Any

from talweg.core.errors import FailedPreconditionError, UnavailableError, compose

BEAT = 1.0  # seconds between two signs of life
LONGEST = 1 << 20  # bytes of a message
RETRY = 0.1  # seconds until a worker knocks again


def unavailable(happened: str, hint: str = "") -> UnavailableError:
    """Return the error of a worker that is not there, or not any more."""
    hint = hint or "start all workers again: they go on from the last checkpoint"
    return UnavailableError(None, None, compose("TW406", happened, hint=hint))


def precondition(happened: str, expected: str = "", hint: str = "") -> FailedPreconditionError:
    """Return the error of workers that do not do the same."""
    return FailedPreconditionError(None, None, compose("TW406", happened, expected, hint))


class WorkerConnection:
    """A connection to another worker: messages, one a line."""

    def __init__(self, connection: socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        self._connection, self._sending = connection, threading.Lock()
        self._received = b""
        self.heard = time.monotonic()

    def send(self, message: dict) -> None:
        """Send a message; OSError if the connection is gone."""
        with self._sending:
            self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, seconds: float | None = None) -> dict:
        """Return the next message;
        OSError or ValueError where there is none, or it is no message.
        """
        self._connection.settimeout(seconds)
        while b"\n" not in self._received:
            if len(self._received) > LONGEST:
                raise ValueError("a message without end")
            received = self._connection.recv(1 << 16)
            if not received:
                raise ConnectionError("closed")
            self._received += received
            self.heard = time.monotonic()
        line, _, self._received = self._received.partition(b"\n")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("no message")
        return message

    def close(self) -> None:
        """Close the connection, and end the threads that wait for it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Meeting:
    """The workers of a cluster, `names`, of which this is number `own`.

    seconds: how long to wait for one that does not come, or says nothing any more.
    """

    def __init__(self, names: list[str], own: int, address: str, seconds: float, about: dict):
        self.names, self.own, self.seconds = names, own, seconds
        self._condition = threading.Condition()
        self._round = 0
        self._said: dict[int, dict[int, str]] = {}  # round -> who says what
        self._answers: dict[int, list[str]] = {}
        self._lost: str | None = None  # who is, and why
        self._ended = False
        self._lines: dict[int, WorkerConnection] = {}
        host, _, port = address.rpartition(":")
        if own == 0:
            self._gather(int(port), about)
        else:
            self._knock(host.strip("[]"), int(port), about)
        for number, line in self._lines.items():
            self._start(self._listen, number, line)
        self._start(self._live)

    def _start(self, work: Any, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True, name="talweg cluster").start()

    # -- the beginning

    def _gather(self, port: int, about: dict) -> None:
        """Wait until all other workers have connected to this port."""
        with _server(port) as server:
            end = time.monotonic() + self.seconds
            while len(self._lines) < len(self.names) - 1:
                left = end - time.monotonic()
                missing = [n for k, n in enumerate(self.names) if k and k not in self._lines]
                if left <= 0:
                    self._refuse(
                        unavailable(f"{_join_names(missing)} did not come{self._within()}")
                    )
                server.settimeout(left)
                with contextlib.suppress(TimeoutError):
                    self._admit(WorkerConnection(server.accept()[0]), about)
        for line in self._lines.values():
            line.send({"welcome": about})

    def _within(self) -> str:
        return f" within {self.seconds:g} s (TALWEG_CLUSTER_TIMEOUT)"

    def _admit(self, line: WorkerConnection, about: dict) -> None:
        """Take in a worker that knocks; others are sent away."""
        try:
            message = line.receive(min(self.seconds, 10.0))
            number, theirs = message["worker"], message["about"]
            known = isinstance(number, int) and 0 < number < len(self.names)
        except (OSError, ValueError, KeyError):
            line.close()
            return
        if not known or number in self._lines or theirs != about:
            name = self.names[number] if known else f"worker {number!r}"
            text = f"{name} came twice: two processes have its place in the cluster"
            if not known or theirs != about:
                text = f"{name} is of another cluster: {_difference(theirs, about)}"
            with contextlib.suppress(OSError):
                line.send({"refused": text})
            self._refuse(precondition(text, "the same TF_CONFIG on all workers, but for the task"))
        self._lines[number] = line

    def _refuse(self, error: Exception) -> None:
        """Tell the connected workers why nothing begins, and raise that error."""
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send({"refused": str(error), "missing": isinstance(error, UnavailableError)})
            line.close()
        raise error

    def _knock(self, host: str, port: int, about: dict) -> None:
        """Knock at the first worker's door until it opens and all are there."""
        end = time.monotonic() + self.seconds
        while True:
            left = end - time.monotonic()
            if left <= 0:
                text = f"{self.names[0]} did not come{self._within()}"
                raise unavailable(text)
            try:
                line = WorkerConnection(socket.create_connection((host, port), min(left, 5.0)))
                line.send({"worker": self.own, "about": about})
                answer = line.receive(max(left, 0.1) + 2.0)
                break
            except (OSError, ValueError):
                time.sleep(RETRY)
        if "refused" in answer:
            text = str(answer["refused"])
            raise (
                UnavailableError(None, None, text)
                if answer.get("missing")
                else precondition(text, "the same TF_CONFIG on all workers, but for the task")
            )
        self._lines[0] = line

    # -- what goes on beside the program

    def _listen(self, number: int, line: WorkerConnection) -> None:
        """Hear what one worker says, in a thread of its own."""
        try:
            while True:
                message = line.receive()
                if "say" in message:
                    self._hear(number, message["round"], message["say"])
                elif "all" in message:
                    with self._condition:
                        self._answers[message["round"]] = message["all"]
                        self._condition.notify_all()
                elif "lost" in message:
                    self._lose(message["lost"])
                elif "leave" in message:
                    self._lose(f"{self.names[number]} has ended")
        except (OSError, ValueError, KeyError):
            self._lose(f"{self.names[number]} is gone: its connection was closed")

    def _live(self) -> None:
        """Give signs of life, and miss those of others."""
        while not self._ended:
            time.sleep(min(BEAT, self.seconds / 4))
            for number, line in self._lines.items():
                with contextlib.suppress(OSError):
                    line.send({"live": 1})
                if time.monotonic() - line.heard > self.seconds:
                    self._lose(f"{self.names[number]} has said nothing for {self.seconds:g} s")

    def _lose(self, text: str) -> None:
        with self._condition:
            first = self._lost is None and not self._ended
            if first:
                self._lost = text
            self._condition.notify_all()
        if first and self.own == 0:
            for line in self._lines.values():
                with contextlib.suppress(OSError):
                    line.send({"lost": text})

    def _hear(self, number: int, number_of_round: int, text: str) -> None:
        """Note a worker's text; the first worker tells all of them when all have spoken."""
        with self._condition:
            said = self._said.setdefault(number_of_round, {})
            said[number] = text
            if len(said) < len(self.names):
                return
            everything = [said[k] for k in range(len(self.names))]
            del self._said[number_of_round]
            self._answers[number_of_round] = everything
            self._condition.notify_all()
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send({"round": number_of_round, "all": everything})

    # -- what the program asks

    def agree(self, text: str, seconds: float) -> list[str]:
        """Exchange texts: return those of all workers, in their order; this worker says `text`.

        UnavailableError if one is lost, or has not come here after so many seconds.
        """
        with self._condition:
            number, self._round = self._round, self._round + 1
        message = {"round": number, "say": text}
        if self.own == 0:
            self._hear(0, number, text)
        else:
            with contextlib.suppress(OSError):
                self._lines[0].send(message)
        end = time.monotonic() + seconds
        with self._condition:
            while number not in self._answers:
                if self._lost is not None:
                    raise unavailable(f"{self._lost}, while {self.names[self.own]} waits for it")
                left = end - time.monotonic()
                if left <= 0:
                    raise unavailable(self._late(number, seconds))
                self._condition.wait(min(left, 1.0))
            return self._answers.pop(number)

    def _late(self, number: int, seconds: float) -> str:
        said = self._said.get(number, {})
        late = [name for k, name in enumerate(self.names) if k not in said and k != self.own]
        who = _join_names(late) if self.own == 0 else "another worker"
        return f"{who} did not come to the same point within {seconds:g} s"

    @property
    def lost(self) -> str | None:
        """The worker that is lost, and why; None while all are there."""
        return self._lost

    def wait_for_loss(self, seconds: float) -> str | None:
        """Wait so many seconds for the news that a worker is lost."""
        end = time.monotonic() + seconds
        with self._condition:
            while self._lost is None and time.monotonic() < end:
                self._condition.wait(0.1)
        return self._lost

    def leave(self) -> None:
        """Tell the others that this worker has ended."""
        self._ended = True
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send({"leave": 1})
            line.close()


def _server(port: int) -> socket.socket:
    """Return a socket at which other machines can knock."""
    try:
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):
        pass
    try:
        return socket.create_server(("", port))
    except OSError as error:
        text = f"the port {port} of this worker cannot be used: {error.strerror or error}"
        raise precondition(text, hint="another port in TF_CONFIG, on all workers") from None


def _join_names(names: list[str]) -> str:
    return ", ".join(names)


def _difference(theirs: Any, about: dict) -> str:
    """Return the first thing in which two workers differ."""
    theirs = theirs if isinstance(theirs, dict) else {}
    for key, value in about.items():
        if theirs.get(key) != value:
            return f"its {key} is {theirs.get(key)!r}, here it is {value!r}"
    return "it says what this one does not"

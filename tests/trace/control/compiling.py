"""Programs run by the interpreter and as machine code, which must say the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import talweg as tf
from talweg.core import settings
from talweg.core.errors import OpError
from talweg.execute import stage_dump


@contextlib.contextmanager
def refusals() -> Iterator[list]:
    """The programs that are left to the interpreter meanwhile, whole or in part, and why."""
    found: list = []
    told, said = stage_dump.dump_refusal, stage_dump.Stages.say

    def say(self: Any, text: str) -> None:
        if "compiled but for" in text:
            found.append(text)

    stage_dump.dump_refusal = lambda name, reason: found.append(f"{name}: {reason}")
    stage_dump.Stages.say = say
    try:
        yield found
    finally:
        stage_dump.dump_refusal, stage_dump.Stages.say = told, said


def runs(function: Callable, calls: list, executor: str) -> list:
    """What a function gives, call after call; the class of an error it raises."""
    tf.random.set_seed(7)
    made = tf.function(function)
    results: list[Any] = []
    with settings.executor(executor):
        for arguments in calls:
            try:
                found = made(*[tf.constant(x) for x in arguments])
                results.append([np.array(x) for x in tf.nest.flatten(found)])
            except OpError as error:
                results.append(type(error).__name__)
    return results


def assert_compiled(
    function: Callable, *calls: tuple, tolerance: float = 1e-5, executor: str = "llvm"
) -> list:
    """A function is compiled, and does what the interpreter does; the results."""
    with refusals() as refused:
        found = assert_agrees(function, *calls, tolerance=tolerance, executor=executor)
    assert not refused
    return found


def assert_agrees(
    function: Callable, *calls: tuple, tolerance: float = 1e-5, executor: str = "llvm"
) -> list:
    """A function does what the interpreter does; the results."""
    wanted = runs(function, list(calls), "interpret")
    found = runs(function, list(calls), executor)
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, str) or isinstance(one, str):
            assert one == other
            continue
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, tolerance, tolerance, strict=True)
    return found

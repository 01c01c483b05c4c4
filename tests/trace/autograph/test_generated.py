"""Random programs with control flow: traced, they must give what they give eagerly."""

import linecache
import random

import pytest

import talweg as tf
from tests.trace.autograph.support import values

NAMES = ("a", "b", "c")
PROGRAMS = 40


class Writer:
    """Writes the body of a function of two integers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0

    def expression(self, depth=2):
        pick = self.random.random()
        if depth == 0 or pick < 0.35:
            return self.random.choice((*NAMES, *NAMES, "x", "y", str(self.random.randint(-3, 5))))
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        if pick < 0.5:
            return f"({left} if {self.condition(depth - 1)} else {right})"
        if pick < 0.55:
            return f"({left} % 7)"
        return f"({left} {self.random.choice('+-*')} {right}) % 23"

    def condition(self, depth=1):
        pick = self.random.random()
        one = f"{self.expression(0)} {self.random.choice(('<', '>', '==', '!=', '<='))} "
        one += self.expression(0)
        if depth == 0 or pick < 0.6:
            return one
        other = self.condition(depth - 1)
        return (
            f"not ({one})" if pick < 0.7 else f"({one} {self.random.choice(('and', 'or'))} {other})"
        )

    def block(self, indent, depth, size, in_loop):
        for _ in range(size):
            self.statement(indent, depth, in_loop)

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, indent, depth, in_loop):
        pick = self.random.random()
        if depth == 0 or pick < 0.4:
            jump = self.random.random()
            if in_loop and jump < 0.15:
                self.put(indent, f"if {self.condition()}:")
                self.put(indent + 1, self.random.choice(("break", "continue")))
            elif jump < 0.22:
                self.put(indent, f"if {self.condition()}:")
                self.put(indent + 1, f"return {self.expression()}")
            else:
                operator = self.random.choice(("=", "=", "+="))
                self.put(indent, f"{self.random.choice(NAMES)} {operator} {self.expression()}")
        elif pick < 0.7:
            self.put(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth - 1, 2, in_loop)
            if pick < 0.6:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, 1, in_loop)
        elif pick < 0.85:
            self.put(indent, f"for i in {self.random.choice(('tf.range', 'range'))}(3):")
            self.put(indent + 1, f"{self.random.choice(NAMES)} += i")
            self.block(indent + 1, depth - 1, 2, True)
        else:
            self.loops += 1
            count = f"n{self.loops}"
            self.put(indent, f"{count} = x % 5")
            self.put(indent, f"while {count} > 0 and {self.condition()}:")
            self.put(indent + 1, f"{count} -= 1")
            self.block(indent + 1, depth - 1, 2, True)


def program(seed):
    """A function and its text."""
    writer = Writer(seed)
    writer.block(1, 2, 4, False)
    names = ", ".join(NAMES)
    body = "\n".join(writer.lines)
    text = f"def run(x, y):\n    {names} = x, y, 1\n{body}\n    return a + b * 100 + c * 10000\n"
    file = f"<generated {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"tf": tf}
    exec(compile(text, file, "exec"), space)
    return space["run"], text


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_traced_is_eager(seed):
    run, text = program(seed)
    traced = tf.function(run)
    for x, y in ((0, 0), (3, -2), (7, 4), (-5, 9)):
        arguments = tf.constant(x), tf.constant(y)
        assert values(traced(*arguments)) == values(run(*arguments)), (text, x, y)

"""The page of every cause: its first program has it, its second has a gradient."""

from __future__ import annotations

import ast
import linecache
import re

import numpy as np
import pytest

import talweg as tf
from talweg.core.errors import CATALOGUE
from talweg.doctor.pages import page

CODES = [code for code in CATALOGUE if "TW310" <= code <= "TW338"]


def programs(code):
    return re.findall(r"^```python\n(.*?)^```", page(code), re.MULTILINE | re.DOTALL)


def run(text, name):
    """The names after a program, and target and source of the last gradient it asks for."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"tf": tf, "np": np}
    calls = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tape.gradient"
    ]
    last = max(calls, key=lambda node: node.lineno)
    tape_kept = text.replace("\ndel tape", "")
    try:
        exec(compile(tape_kept, name, "exec"), names)
    except (RuntimeError, TypeError) as error:
        assert "Error" in text and "TW30" in str(error)
    return names, [ast.unparse(argument) for argument in last.args[:2]]


@pytest.mark.parametrize("code", CODES)
def test_the_bad_program_has_this_cause(code, capsys):
    bad, _ = programs(code)
    name = f"<page {code}>"
    names, (target, source) = run(bad, name)
    exec(compile(f"found = tape.explain({target}, {source})", "<asked>", "exec"), names)
    found = names["found"]
    assert found.code == code, f"{code}: {found}"
    assert found.remedy
    capsys.readouterr()


@pytest.mark.parametrize("code", CODES)
def test_the_good_program_has_a_gradient(code, capsys):
    _, good = programs(code)
    before = tf.GradientTape.gradient
    given = []

    def gradient(tape, *arguments, **options):
        given.append(before(tape, *arguments, **options))
        return given[-1]

    tf.GradientTape.gradient = gradient
    try:
        run(good, f"<page {code} again>")
    finally:
        tf.GradientTape.gradient = before
    assert given and all(part is not None for part in given)
    capsys.readouterr()

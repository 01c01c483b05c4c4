"""Declarations with a mistake are refused at import, and leave nothing behind."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.core.aval import Aval
from talweg.core.declare import DeclarationError, elementwise, primitive
from talweg.core.dtypes import FLOATING
from talweg.core.primitive import REGISTRY, NoGradient
from talweg.passes.specialize.stack_primitives import Construct

NONE = NoGradient("a step function", "smooth it")


def by_partials(extra, **given):
    body = {"__doc__": "z = x + y.", "operands": "x y", "dx": 1, "dy": 1, **extra}
    declaration = type("made_up", (), body)
    return elementwise(**{"numpy": np.add, "accepts": FLOATING, **given})(declaration)


def by_rules(extra):
    body = {
        "__doc__": "y = x.",
        "operands": "x",
        "infer": lambda x: Aval(x.dims, x.dtype),
        "numpy": np.positive,
        "batch": "elementwise",
        "memory": "map",
        "samples": (1,),
        "transpose_x": lambda g, x: g,
        **extra,
    }
    return primitive(type("made_up", (), body))


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"dz": 1}, "'dz' is no field of a declaration; did you mean 'd[xy]'?"),
        ({"Scalar": "add"}, "'Scalar' is no field of a declaration; did you mean 'scalar'?"),
        ({"samplez": ()}, "'samplez' is no field"),
        ({"nogradient": NONE}, "did you mean 'no_gradient'?"),
        ({"requirez": None}, "did you mean 'requires'?"),
        ({"no_gradient": {"z": NONE}}, "no_gradient speaks of 'z', which is no operand"),
    ],
)
def test_elementwise(extra, said):
    with pytest.raises(DeclarationError, match=said.replace("?", r"\?")):
        by_partials(extra)
    assert "made_up" not in REGISTRY


@pytest.mark.parametrize("given", [{"domain": {"t": (0, 1)}}, {"same": "x t"}])
def test_arguments_of_elementwise(given):
    with pytest.raises(DeclarationError, match="speaks of 't', which is no operand"):
        by_partials({}, **given)
    assert "made_up" not in REGISTRY


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"transpose_y": lambda g, x: g}, "did you mean 'transpose_x'?"),
        ({"lopps": None}, "did you mean 'loops'?"),
        ({"sample": ()}, "did you mean 'samples'?"),
        ({"linear": "x z"}, "linear speaks of 'z'"),
        ({"no_gradient": {"z": NONE}}, "no_gradient speaks of 'z'"),
    ],
)
def test_primitive(extra, said):
    with pytest.raises(DeclarationError, match=said.replace("?", r"\?")):
        by_rules(extra)
    assert "made_up" not in REGISTRY


def test_constructs_of_the_compiler():
    with pytest.raises(DeclarationError, match="did you mean 'loops'?"):
        Construct("made_up", {"loop": None})

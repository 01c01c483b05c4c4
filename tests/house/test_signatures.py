"""Parameters of public functions and classes are TensorFlow's: their names, order and defaults.

`tests/recorded/signatures.txt` says what they are in TensorFlow 2.21; it is written by
`tools/record_signatures.py`.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recorded.signatures import describe  # noqa: E402

from talweg.api.export import look_up  # noqa: E402

RECORDED = Path(__file__).parent.parent / "recorded" / "signatures.txt"
MADE = "objects of this class are made by other functions; nobody calls it"
ELSEWHERE = "it refuses: there is no such device or service here"
LISTED = {
    "data.Dataset": MADE,
    "data.Iterator": MADE,
    "data.experimental.Optional": MADE,
    "experimental.Optional": MADE,
    "compat.v1.data.Dataset": MADE,
    "compat.v1.data.Iterator": MADE,
    "DType": MADE,
    "dtypes.DType": MADE,
    "distribute.DistributedDataset": MADE,
    "distribute.DistributedIterator": MADE,
    "distribute.ReplicaContext": MADE,
    "distribute.Strategy": MADE,
    "distribute.StrategyExtended": MADE,
    "types.experimental.ConcreteFunction": MADE,
    "types.experimental.GenericFunction": MADE,
    "types.experimental.PolymorphicFunction": MADE,
    "types.experimental.distributed.Mirrored": MADE,
    "types.experimental.distributed.PerReplica": MADE,
    "RaggedTensor": MADE,
    "distribute.cluster_resolver.GCEClusterResolver": ELSEWHERE,
    "distribute.cluster_resolver.KubernetesClusterResolver": ELSEWHERE,
    "distribute.experimental.TPUStrategy": ELSEWHERE,
    "lite.Interpreter": ELSEWHERE,
}


def _entries():
    for line in RECORDED.read_text("utf-8").splitlines():
        name, _, wanted = line.partition(" ")
        try:
            yield name, wanted, look_up(name)
        except (AttributeError, ImportError):
            continue  # not there yet: docs/compatibility.md counts those


def _parts(text):
    """(whether it can be called, its parameters); None where nobody knows them."""
    kind, bracket, rest = text.partition("(")
    inner = rest.removesuffix(")")
    unknown = inner in ("?", "*args, **kwargs")
    parameters = ["**" if part.startswith("**") else part for part in _split(inner)]
    return bool(bracket) or kind == "class", None if unknown or not bracket else parameters


def _split(text):
    """The parameters; commas in brackets do not part them."""
    found, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            found.append(current.strip())
            current = ""
        else:
            current += character
    return [*found, current.strip()] if current.strip() else found


def _equal(one, other):
    name, _, value = one.partition("=")
    other_name, _, other_value = other.partition("=")
    same = value.strip("'") == other_value.strip("'")  # a dtype may be given by its name
    return name == other_name and (same or "..." in (value, other_value))


def _differs(wanted, got):
    callable_wanted, parameters = _parts(wanted)
    callable_got, own = _parts(got)
    if callable_wanted != callable_got:
        return True
    if parameters is None:
        return False
    return own is None or len(parameters) != len(own) or not all(map(_equal, parameters, own))


def test_signatures_are_tensorflows():
    differing = {
        name: (wanted, describe(value))
        for name, wanted, value in _entries()
        if _differs(wanted, describe(value))
    }
    unlisted = {
        name: pair
        for name, pair in differing.items()
        if name.removeprefix("compat.v1.") not in LISTED
    }
    assert unlisted == {}


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_differs(name):
    assert any(name == known and _differs(w, describe(v)) for known, w, v in _entries())

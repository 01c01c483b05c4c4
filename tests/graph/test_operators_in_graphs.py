"""Linear operators and distributions whose sizes or ranks a graph does not know.

The recorded cases of both ask Python for shapes and hints besides numbers.  Here the numbers count:
each tensor among the results of a case is what was recorded, the interpreter running the graph.
"""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import fed  # noqa: E402
from graph.test_recorded_in_graphs import outcome_and_difference, recorded_values  # noqa: E402
from recorded import case_files, comparison, description  # noqa: E402

from talweg.core import settings  # noqa: E402

UNKNOWN = (fed.FLOATS, fed.ALL, fed.RANK)
# refused eagerly because they are not square, or calling int()
ASKS = re.compile(r"\bint\(|FullMatrix\(wave\(2, 3, d|FullMatrix\(\[\[2.0, 1.0, 0.0\]")
TEXT = re.compile(r"facts\(|algebra\(|kind\(|batch_shape|\[1:?\]\.to_dense|LowRankUpdate\(")
CASES = [
    case
    for area in ("operators", "distributions_v1")
    for case in case_files.read_cases(area)
    if TEXT.search(case.text) and not ASKS.search(case.text)
]


def tensors(given, wanted):
    """(given, wanted) for each tensor in the description of what was wanted."""
    if isinstance(wanted, dict) and "tensor" in wanted:
        yield given, wanted
    elif isinstance(wanted, dict):
        for key in wanted:
            yield from tensors(given.get(key), wanted[key])
    elif isinstance(wanted, list):
        for a, b in zip(given, wanted):
            yield from tensors(a, b)


def wrong_numbers(case, mode):
    """What of a case's numbers is not as recorded."""
    with settings.executor("interpret"):
        outcome, _ = outcome_and_difference(case, mode)
    wanted = description.decode(recorded_values(case.area)[case.text][0])
    if isinstance(wanted, dict) and "raises" in wanted:
        return []
    if isinstance(outcome.gives, dict) and "raises" in outcome.gives:
        return [outcome.gives]
    pairs = tensors(outcome.gives, wanted)
    found = [comparison.difference(a, b, case.flags) for a, b in pairs]
    return [difference for difference in found if difference]


@pytest.mark.parametrize("mode", UNKNOWN)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.area}:{case.line}")
def test_numbers_without_known_sizes(case, mode):
    assert not wrong_numbers(case, mode)

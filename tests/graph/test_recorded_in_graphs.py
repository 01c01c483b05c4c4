"""The recorded cases, run in graphs, must give what TensorFlow gave eagerly.

Four modes (`fed.py`): arrays as constants, floats fed with unknown sizes, everything fed with
unknown sizes, unknown ranks.  Here one case in so many of each area is tried by the interpreter,
and the one after it by the compiler; all are, by both, with `TALWEG_ALL_CASES_IN_GRAPHS=1` (about
three minutes).  Which functions may be kept whole when ranks are known, and why, stands in `WHOLE`.
"""

import json
import os
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import fed, rules  # noqa: E402
from recorded import case_files, description  # noqa: E402

from talweg.core import settings  # noqa: E402

EVERY_CASE = bool(os.environ.get("TALWEG_ALL_CASES_IN_GRAPHS"))
STEP = {fed.CONSTANT: 5, fed.FLOATS: 2, fed.ALL: 3, fed.RANK: 5}  # one case in so many

_TAKE_AXES = """argmax argmin concat cumprod cumsum cumulative_logsumexp expand_dims gather getitem
reduce_all reduce_any reduce_euclidean_norm reduce_join reduce_logsumexp reduce_max reduce_mean
reduce_min reduce_prod reduce_std reduce_sum reduce_variance split stack stateless_uniform"""
_RESIZED = """CropAndResizeGradBoxes CropAndResizeGradImage ResizeArea ResizeBicubic
ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad
ScaleAndTranslate ScaleAndTranslateGrad"""
WHOLE = {
    **dict.fromkeys(_RESIZED.split(), "the weights of pixels are made when sizes are known"),
    **dict.fromkeys(("BlockLSTM", "BlockLSTMV2"), "one step after the other is written out"),
    "EditDistance": "pairs of sequences are compared by the indices of sparse tensors, as arrays",
    "isotonic_regression": "the values that are pooled depend on the values",
    **dict.fromkeys(_TAKE_AXES.split(), "an axis or a number of parts that is a tensor"),
    "lstsq": "which normal equations are regular depends on which side of the matrix is longer",
    "banded_triangular_solve": "diagonals outside the matrix are left out",
    "inverse_mdct": "the window is a function of a length",
    "decode_csv": "whether a tensor as the default of a column is empty",
    "to_tensor": "ragged tensors are filled up by splits as arrays",
    "to_sparse": "the places of a ragged tensor's values are computed as arrays",
    "from_row_lengths": "ragged tensors are made of splits as arrays",
}


@cache
def recorded_values(area):
    """What TensorFlow gave in an area, and what talweg gives on purpose, by the case's text."""
    found = {}
    for path in (case_files.VALUES / f"{area}.json", case_files.VALUES.parent / "differences.json"):
        for entry in json.loads(path.read_text("utf-8")):
            found.setdefault(entry["case"], []).append(entry["gives"])
    return found


def chosen(area, mode, first):
    """The cases of an area that are tried in a mode, from the first on."""
    cases = [case for case in case_files.read_cases(area) if not rules.reason_to_skip(case, mode)]
    return cases if EVERY_CASE else cases[first :: STEP[mode]]


def outcome_and_difference(case, mode):
    """What the case gives in a graph, and what is wrong with it (None: nothing)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = fed.run_case(case, mode)
    if rules.asked_python(outcome) or (mode == fed.RANK and rules.unranked(outcome)):
        return outcome, None
    found = [
        rules.difference(outcome, description.decode(wanted), case.flags)
        for wanted in recorded_values(case.area)[case.text]
    ]
    return outcome, None if None in found else found[-1]


def innermost(name):
    """The function in "Pull of Push of function"."""
    return name.rpartition(" of ")[2]


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("mode", fed.MODES)
@pytest.mark.parametrize("area", [area for area in case_files.areas() if area not in rules.AREAS])
def test_cases_in_graphs(area, mode, executor):
    """The area's cases give what was recorded; with known ranks little is kept whole."""
    wrong, whole = [], []
    for case in chosen(area, mode, 1 if executor == "llvm" else 0):
        with settings.executor(executor):
            outcome, found = outcome_and_difference(case, mode)
        if found:
            wrong.append(f"{case.label}\n{case.text}\n{found}")
        names = {innermost(name) for name in outcome.whole}
        if mode != fed.RANK and not names <= WHOLE.keys():
            whole.append(f"{case.label}: {sorted(names - WHOLE.keys())}")
    if wrong or whole:
        pytest.fail("\n\n".join([*wrong, *whole]), pytrace=False)

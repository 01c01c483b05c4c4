"""Every recorded case, asked of talweg, must give what TensorFlow gave.

One test a case; its name is area, line of the case file and the first function named there, so
`-k math` or `-k reduce_sum` choose. `TALWEG_RECORDED_MODULE=tensorflow` asks TensorFlow itself,
which proves the harness: everything must pass. The syntax of the cases: `recorded/case_files.py`.
"""

import importlib
import json
import os
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recorded import case_files, comparison, description, helpers  # noqa: E402

MODULE = os.environ.get("TALWEG_RECORDED_MODULE", "talweg")
CASES = [case for area in case_files.areas() for case in case_files.read_cases(area)]


@cache
def module_and_names():
    """The module under test and what a case sees of it."""
    if MODULE == "tensorflow":
        os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"})
    tf = importlib.import_module(MODULE)
    return tf, helpers.namespace(tf)


@cache
def recorded_values(area):
    """What TensorFlow gave in an area, by the text of the case."""
    path = case_files.VALUES / f"{area}.json"
    if not path.exists():
        return {}
    return {entry["case"]: entry["gives"] for entry in json.loads(path.read_text("utf-8"))}


@cache
def differences():
    """Where talweg departs on purpose, by the text of the case."""
    entries = json.loads((case_files.VALUES.parent / "differences.json").read_text("utf-8"))
    return {entry["case"]: entry for entry in entries}


@pytest.mark.parametrize("case", CASES, ids=[case.label for case in CASES])
def test_recorded(case):
    """The case gives what TensorFlow gave."""
    __tracebackhide__ = True
    wanted = recorded_values(case.area).get(case.text, case)
    if wanted is case:
        pytest.fail(f"not recorded yet: python tools/record.py {case.area}", pytrace=False)
    tf, names = module_and_names()
    ours = differences().get(case.text) if MODULE == "talweg" else None
    if "tf-wrong" in case.flags and ours is None:
        if MODULE == "talweg":
            pytest.fail("no entry in differences.json: python tools/record_differences.py")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = description.run(case, tf, names)
    found = comparison.difference(got, description.decode(wanted), case.flags)
    if ours is not None:
        assert ours["reason"], "a difference needs its reason"
        assert found or "tf-wrong" in case.flags, "talweg does what TensorFlow does: no difference"
        found = comparison.difference(got, description.decode(ours["gives"]), case.flags)
    if found:
        pytest.fail(f"{case.label}\n{case.text}\n{found}", pytrace=False)


@pytest.mark.parametrize("area", case_files.areas())
def test_values_belong_to_cases(area):
    """No value is left over from a case that is gone."""
    texts = {case.text for case in case_files.read_cases(area)}
    assert [text for text in recorded_values(area) if text not in texts] == []

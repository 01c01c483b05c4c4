"""Shared set-up: hypothesis without deadlines, a cache of its own, settings that stay.

Machines are slow sometimes, so examples have no deadline.  What is compiled goes to a folder of the
session (`cache_folder.py`), not to the user's.  Faults of the compiler are errors, in processes
that tests start, too.  XLA compiles with little optimization (`xla_flags.py`).  A test that leaves
a setting changed fails, since later ones would run under it, in whatever order they come.

`--quick` runs what `quick.txt` names, of each file one test of so many.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

from talweg.core.settings import SETTINGS
from tests import cache_folder
from tests.xla_flags import QUICK_TO_COMPILE

_folder = None if "TALWEG_CACHE" in os.environ else cache_folder.begin()
os.environ.setdefault("TALWEG_CACHE", _folder or "")  # for workers of xdist, too
cache_folder.share_code(os.environ["TALWEG_CACHE"])
os.environ.setdefault("TALWEG_STRICT", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile talweg anew
sys.dont_write_bytecode = False
os.environ.setdefault("XLA_FLAGS", QUICK_TO_COMPILE)  # read when JAX begins

hypothesis.settings.register_profile(
    "talweg",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # where others load the machine
)
hypothesis.settings.load_profile("talweg")


# Type checkers take ten seconds for a test: in the end one worker would wait for the other.  Faults
# fork hundreds of times, which takes a process longer when it has loaded everything.
FIRST = {"type_checkers": 0, "faults": 1}


def quick() -> dict[Path, int]:
    """The files of the quick tier, and of how many tests one is run."""
    root = Path(__file__).resolve().parent
    lines = [line.split() for line in (root / "quick.txt").read_text().splitlines()]
    return {root.parent / line[0]: int(line[1]) for line in lines if line[0] != "#"}


def pytest_addoption(parser):
    """`--quick`."""
    parser.addoption("--quick", action="store_true", help="a sample of each part, for every save")


def pytest_configure(config):
    """Name the files of the quick tier, if that is asked for and no others are."""
    if config.option.quick and config.args_source.name != "ARGS":
        config.args = [str(path) for path in quick()]


def pytest_unconfigure(config):
    """Remove the cache folder, if this is the process that made it."""
    if _folder is not None:
        cache_folder.end(_folder)


def pytest_collection_modifyitems(config, items):
    """Keep a sample of the tests of each file, and put first what costs least there."""
    items.sort(key=lambda item: FIRST.get(item.path.parent.name, len(FIRST)))
    if not config.option.quick:
        return
    every, seen, kept, dropped = quick(), {}, [], []
    for item in items:
        number = seen[item.path] = seen.get(item.path, -1) + 1
        (dropped if number % every.get(item.path, 1) else kept).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def pytest_collection_finish(session):
    """Let collections of garbage in tests pass over the 40,000 items of the session."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note what is set before the first fixture of a test."""
    item.settings_before = _values_set()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """Compare when the last fixture of a test is gone; put back what was set before."""
    result = yield
    before, now = item.settings_before, _values_set()
    for name, value in before.items():
        SETTINGS[name].set(value)
    changed = {name: now[name] for name, value in before.items() if now[name] != value}
    if changed:
        pytest.fail(f"{item.nodeid} leaves settings changed: {changed}", pytrace=False)
    return result


def _values_set():
    return {name: setting.get() for name, setting in SETTINGS.items()}

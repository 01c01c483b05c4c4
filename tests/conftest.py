"""Shared set-up: hypothesis without deadlines, a cache of its own, settings that stay.

Machines are slow sometimes, so examples have no deadline.  Compiled code goes to a folder that runs
share, not to the user's.  Faults of the compiler are errors, in processes that tests start, too.
A test that leaves a setting changed fails, since later ones would run under it, in whatever order
they come.
"""

from __future__ import annotations

import getpass
import os
import tempfile

import hypothesis
import pytest

from talweg.core.settings import SETTINGS

_folder = os.path.join(tempfile.gettempdir(), f"talweg-tests-{getpass.getuser()}")
os.environ.setdefault("TALWEG_CACHE", _folder)
os.environ.setdefault("TALWEG_STRICT", "1")

hypothesis.settings.register_profile("talweg", deadline=None, max_examples=30, derandomize=True)
hypothesis.settings.load_profile("talweg")


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

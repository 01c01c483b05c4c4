"""Profiles: the time of a program by line, operation and kernel, measured while it runs.

`clock.py` counts time by what it is spent on; `seams.py` puts it round operations, programs, traces
and compilations while a profile is on; `sampler.py` looks at which line Python is; `report.py`
tells it, `chrome.py` writes it for chrome://tracing and Perfetto.
"""

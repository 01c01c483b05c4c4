"""Where the time of a program goes: measured while it runs, told by line, operation and kernel.

`clock.py` counts time by what it is spent on; `seams.py` puts it round operations, programs, traces
and compilations while a profile is on; `sampler.py` looks at which line Python is; `report.py`
tells it, `chrome.py` writes it for chrome://tracing and Perfetto.
"""

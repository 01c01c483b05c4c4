"""Talweg beside its peers: one run, interleaved, reported as ratios with the aims beside them.

`python -m benchmarks --help` says how; `benchmarks/README.md` says what the columns mean and how
to add one.  What a worker process needs (`declare`, `peers`, `worker`, `topics`) imports only the
standard library, so that it runs in every peer's own environment.
"""

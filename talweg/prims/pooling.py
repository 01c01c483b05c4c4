"""Pooling and patches: what windows hold, reduced or laid out.  Parameters as in `prims/window.py`.

The derivative of a maximum is a choice: `max_pool_gather` takes one element per window,
`max_pool_scatter` puts cotangents back; each is the transpose of the other.
"""

from __future__ import annotations

"""The primitives: one declaration an operation, with all its rules.

Modules are loaded when somebody uses them.  A rule may name a primitive of one that nobody has used
yet (`core.primitive.later`): then they are loaded until it is there.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from talweg.core.primitive import REGISTRY


def load(name: str) -> None:
    """Load modules until there is a primitive of this name."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
        if name in REGISTRY:
            return


REGISTRY.finder = load

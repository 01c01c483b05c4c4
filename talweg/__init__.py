"""talweg: TensorFlow's programming model without its traps.  `import talweg as tf`.

Names are looked up when they are first used; importing this package imports NumPy and the core.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from talweg.api.export import look_up, names_in, namespace
from talweg.api.table import NAMESPACES
from talweg.api.tensorflow_alias import OWN_KERAS
from talweg.core.settings import check_environment
from talweg.core.tracebacks import boundary
from talweg.core.version import RELEASE, VERSION

__version__ = VERSION  # of TensorFlow's API
__talweg_version__ = RELEASE  # talweg's own

check_environment()

for _name in sorted(NAMESPACES):
    namespace(_name)
if OWN_KERAS not in sys.meta_path:
    sys.meta_path.append(OWN_KERAS)  # the last to be asked; answers for talweg.keras only


@boundary
def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `help` lists, and `from talweg import *` gives
        return [each for each in names_in("") if not each.startswith("__")]
    if name in ("__git_version__", "__compiler_version__"):
        return look_up(f"version.{name.strip('_').upper()}")
    if name.startswith("__") and name not in ("__internal__", "__operators__"):
        raise AttributeError(name)
    value = import_module("talweg.doctor") if name == "doctor" else look_up(name)
    setattr(sys.modules[__name__], name, value)
    return value


def load_ipython_extension(shell: Any) -> None:
    """Register the magics of `talweg/command/magics.py`:
    `%load_ext talweg` in a notebook calls this.
    """
    import_module("talweg.command.magics").register(shell)


def __dir__() -> list[str]:
    return [*names_in(""), "__talweg_version__", "__version__"]

"""Under which name a program finds talweg: `tensorflow`, as that of TensorFlow 2, or of 1.

`talweg.as_tensorflow` does the first.  For a program of the first generation, `import tensorflow`
in the program's own files gives `tensorflow.compat.v1` with graphs as the way of the process;
installed packages, Keras among them, still find TensorFlow 2's names under the same import.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import talweg
from talweg.api.export import look_up
from talweg.api.names.known import resolve
from talweg.api.tensorflow_alias import FINDER, as_tensorflow
from talweg.core.dispatch import Context
from talweg.core.provenance import is_inner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME, FIRST = "tensorflow", "compat.v1"


@contextmanager
def standing_in(first: bool = False) -> Iterator[Any]:
    """Install talweg under the name `tensorflow` inside the block;
    `first`: that of TensorFlow 1.
    """
    before = {name: module for name, module in sys.modules.copy().items() if is_below(name)}
    finders, was_eager = list(sys.meta_path), Context.first_base is None
    as_tensorflow()
    try:
        if first:
            with first_generation():
                yield talweg
        else:
            yield talweg
    finally:
        if FINDER not in finders:
            sys.meta_path.remove(FINDER)
        for name in filter(is_below, sys.modules.copy()):  # threads may be importing
            sys.modules.pop(name, None)
        sys.modules.update(before)
        if was_eager and Context.first_base is not None:
            to_eager()


def to_eager() -> None:
    """Let operations run at once again, after a program that wanted graphs."""
    with suppress(AssertionError, ValueError):  # it may have left a graph's block open
        look_up(f"{FIRST}.reset_default_graph")()
        look_up(f"{FIRST}.enable_v2_behavior")()


def stand_in_for_good(first: bool = False) -> Any:
    """Install talweg as `tensorflow` for the rest of the process;
    return what `tensorflow` is then.
    """
    context = standing_in(first)
    _for_good.append(context)  # a context that nobody holds would end
    context.__enter__()
    return look_up(FIRST) if first else talweg


_for_good: list[Any] = []


def is_below(name: str) -> bool:
    """Return whether a module is `tensorflow` or below it."""
    return name == NAME or name.startswith(f"{NAME}.")


@contextmanager
def first_generation() -> Iterator[None]:
    """Give `compat.v1` to imports of `tensorflow` in the block; operations go to graphs."""
    plain = builtins.__import__
    v1 = look_up(FIRST)
    v1.__dict__.setdefault("__version__", talweg.__version__)

    def importer(
        name: str,
        globals: dict | None = None,
        locals: dict | None = None,
        fromlist: Sequence[Any] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0 and is_below(name) and is_own(globals):
            return import_first(name, fromlist, plain, globals, locals)
        return plain(name, globals, locals, fromlist, level)

    look_up(f"{FIRST}.disable_v2_behavior")()
    builtins.__import__ = importer
    try:
        yield
    finally:
        builtins.__import__ = plain


def import_first(
    name: str, fromlist: Any, plain: Callable, globals: dict | None, locals: dict | None
) -> Any:
    """Return the module that `import name` gives in a program of the first generation.

    `import tensorflow.nn` binds `tensorflow`, `from tensorflow.nn import relu` needs `nn` itself.
    """
    own = name[len(NAME) + 1 :]
    target = own if own.startswith("compat") or not own else f"{FIRST}.{own}"
    if own and not resolve(target).is_namespace:
        return plain(name, globals, locals, fromlist, 0)
    if own and target == own:
        return plain(name, globals, locals, fromlist, 0)
    if not fromlist:
        return look_up(FIRST)
    return importlib.import_module(f"{NAME}.{target or FIRST}")


def is_own(globals: dict | None) -> bool:
    """Return whether an import stands in the program itself: neither installed nor talweg's."""
    file = (globals or {}).get("__file__") or ""
    return not (is_inner(file) or f"{os.sep}site-packages{os.sep}" in file)

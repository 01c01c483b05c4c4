"""The disk cache of converted code: a process whose functions are in it does not load malt.

Loading malt takes 30 ms and a function 10 to 30, which is more than the trace.  What is kept is
what Python itself keeps of modules, code objects, in the cache of compiled code.  A key holds all
that a conversion looks at: the function's code, its lines as they are in the file now, which of its
names are there, and the versions of Python, malt and this package.  Calls of `set_loop_options` are
found by their value, which no key can hold: such functions are converted each time.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from talweg.core.version import RELEASE, stamps
from talweg.execute import cache
from talweg.trace.autograph.converted_code import Converted
from talweg.trace.autograph.directives import set_loop_options
from talweg.trace.autograph.source import lines_of

# What reading a damaged entry raises.
DAMAGED = (EOFError, MemoryError, OverflowError, TypeError, ValueError)
_PARTS = ("", "converters", "core", "pyct", "pyct/static_analysis")  # of malt, that decide


def get_or_make(function: FunctionType, purpose: str, make: Callable[[], Any]) -> Any:
    """Return a cached conversion (a `Converted`, a bool or None), or `make` and store it."""
    key = _key(function, purpose)
    if key is None:
        return make()
    content = cache.get(key)
    if content is not None:
        with contextlib.suppress(*DAMAGED):
            return _read(content)
    made = make()
    plain = (made.text, made.code, made.name) if type(made) is Converted else made
    cache.put(key, marshal.dumps(plain))
    return made


def _read(content: bytes) -> Any:
    """Read an entry; one of `DAMAGED` if the file is no entry of this cache."""
    found = marshal.loads(content)
    if type(found) is tuple:
        if [type(part) for part in found] != [str, CodeType, str]:
            raise ValueError("no converted function")
        return Converted(*found)
    if found is not None and type(found) is not bool:
        raise ValueError("no converted function")
    return found


def _key(function: FunctionType, purpose: str) -> bytes | None:
    """Return the key of a function's conversion; None if it is not cacheable."""
    code = function.__code__
    if cache.current() is None or not os.path.isfile(code.co_filename):
        return None
    codes = list(_all_codes(code))
    known = _visible_values(function, {name for each in codes for name in each.co_names})
    if "set_loop_options" in known or any(x is set_loop_options for x in known.values()):
        return None
    fingerprint = _fingerprint()
    if fingerprint is None:
        return None
    last = max([line for each in codes for *_, line in each.co_lines() if line], default=0)
    text = "".join(lines_of(function)[code.co_firstlineno - 1 : last])
    about = (purpose, function.__module__, function.__qualname__, sorted(known), text)
    return f"converted\n{fingerprint}\n{about}\n{_describe_code(code)}".encode(
        errors="surrogatepass"
    )


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    """Return a code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_codes(constant)


def _visible_values(function: FunctionType, names: set[str]) -> dict[str, Any]:
    """Return the values of names and attributes that the function can see."""
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # nothing yet
            continue
    if "set_loop_options" in names:
        found["set_loop_options"] = set_loop_options
    return found


def _describe_code(code: CodeType) -> tuple:
    """Describe a code object by text that is the same in every process."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_describe_code(constant))
        else:
            shown = sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
            constants.append((type(constant).__name__, shown))
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    places = (code.co_filename, code.co_firstlineno, code.co_name, code.co_linetable)
    return counts, names, places, code.co_code, code.co_exceptiontable, constants


@functools.cache
def _fingerprint() -> str | None:
    """Return the versions of the converter and of Python; None without malt."""
    found = importlib.util.find_spec("malt")
    if found is None or found.origin is None:
        return None
    folder = os.path.dirname(found.origin)
    malt = [stamps(os.path.join(folder, part)) for part in _PARTS]
    python = (sys.version, importlib.util.MAGIC_NUMBER, sys.flags.optimize)
    return f"{RELEASE} {stamps(os.path.dirname(__file__))} {python} {malt}"

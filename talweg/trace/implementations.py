"""Implementations of one function for several devices, which libraries declare.

Functions with the same `api_implements` among their attributes compute the same.  One of them that
prefers the CPU (`api_preferred_device`) and was added to a graph runs in place of the others that
the graph calls.  TensorFlow's Grappler does so (`implementation_selector`); TensorFlow Probability
has samplers of two kinds by it.  Once a call has a derivative its implementation stays, so values
and gradients come from one function.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error, value_error
from talweg.execute import executor
from talweg.trace.bodies import canonical

if TYPE_CHECKING:
    from talweg.core.aval import Aval
    from talweg.trace.concrete import ConcreteFunction

API, DEVICE = "api_implements", "api_preferred_device"
_KNOWN = {
    *(API, DEVICE, "_OutputsOnOpDevice", "_disable_acd", "_implements", "_noinline"),
    *("_tf_data_function", "disable_summaries_at_runtime", "experimental_ints_on_device"),
    *("function_runs_at_most_once", "go_backwards", "runtime_constant_optimization", "time_major"),
}
_called: Any = weakref.WeakValueDictionary()  # api -> the trace that a graph calls
_offered: Any = weakref.WeakValueDictionary()  # api -> the trace for the CPU


def check_attributes(attributes: Any) -> dict[str, Any]:
    """Return a function's attributes; ValueError for names that TensorFlow does not know."""
    if attributes is None:
        return {}
    try:
        checked = dict(attributes)
    except (TypeError, ValueError) as error:  # TensorFlow's classes, too
        text = f"tf.function: experimental_attributes is {attributes!r}"
        raise (type_error if isinstance(error, TypeError) else value_error)(
            "TW104", text, "a dictionary"
        ) from None
    for name in checked:
        if name not in _KNOWN:
            raise value_error(
                "TW104",
                f"tf.function: {name!r} is no attribute of functions",
                f"one of {', '.join(sorted(_KNOWN))}",
            )
    return checked


def note_call(trace: ConcreteFunction) -> None:
    """Note that a graph calls a trace, which implements another or may be implemented by one."""
    api = trace.attributes.get(API)
    if DEVICE in trace.attributes:
        offer_implementation(trace)
    elif api is not None:
        _called[api] = trace
        _select(api)


def offer_implementation(trace: ConcreteFunction) -> None:
    """Offer a trace for the CPU in place of others of its name, unless XLA runs programs."""
    api, device = trace.attributes.get(API), trace.attributes.get(DEVICE)
    if api is not None and device == "CPU" and executor.chosen.value != "xla":
        _offered[api] = trace
        _select(api)


def _select(api: Any) -> None:
    """Give the body of the called trace the one for the CPU, if both take and give the same."""
    called, offered = _called.get(api), _offered.get(api)
    if called is not None and offered is not None and _is_alike(called, offered):
        body = canonical(called.body)
        if not body.settled:
            body.implementation = offered.body


def _is_alike(one: ConcreteFunction, other: ConcreteFunction) -> bool:
    nodes = zip((*one.body.inputs, *one.body.outputs), (*other.body.inputs, *other.body.outputs))
    sizes = [(len(trace.body.inputs), len(trace.body.outputs)) for trace in (one, other)]
    captured = zip(one.captured_values(), other.captured_values())
    return (
        sizes[0] == sizes[1]
        and all(a is b for a, b in captured)
        and all(_have_one_form(a.aval, b.aval) for a, b in nodes)
    )


def _have_one_form(a: Aval, b: Aval) -> bool:
    """Return whether dtypes, ranks and the sizes that are known are the same."""
    if a.dtype is not b.dtype or a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return a.dtype is b.dtype and a.dims is None and b.dims is None
    pairs = zip(a.dims, b.dims)
    return all(x == y if type(x) is int or type(y) is int else True for x, y in pairs)

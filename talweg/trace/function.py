"""tf.function: a Python function traced once for each kind of arguments.

Traces are kept in a bounded cache, least recently used first out.  A second shape of the same
arguments gives a second trace; the third one (the second, with `reduce_retracing`) makes the
dimensions that differ unknown.  Each trace after the first has a reason, in words.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

from talweg.core import dispatch, settings
from talweg.core.errors import NeedsStaticError, type_error
from talweg.core.hooks import hooks
from talweg.core.locking import Turn
from talweg.core.spec import TensorSpec
from talweg.core.tracebacks import boundary, pass_out
from talweg.eager.resident import nearest
from talweg.eager.tensor import EagerTensor
from talweg.graph import structure
from talweg.trace.compiler_ir import compiler_ir
from talweg.trace.concrete import ConcreteFunction, TraceGraph
from talweg.trace.exchange import may_be_shared
from talweg.trace.function_type import list_keywords
from talweg.trace.input_signature import check_signature, fit_argument, signature_key
from talweg.trace.library_attributes import FunctionAttributes
from talweg.trace.methods import BoundFunction, Method, positional, signature_of, unwrap_method
from talweg.trace.options import options
from talweg.trace.signature import (
    ArgumentPlace,
    Taken,
    covers,
    difference,
    places_of,
    put_together,
    relax_key,
    release_values,
    specs_together,
    tensor_keys,
)

TRACES = 64  # kept for one function
MANY = 5  # traces at which a function is warned of, once
REASONS = 32  # kept for one function

_uses = itertools.count()  # of traces, so that the one that was not used for longest is dropped
_making = threading.RLock()  # held while a function for a replica or an object is made


class Function(FunctionAttributes):
    """A traced function (`tf.function`); a call traces if needed, and runs the trace."""

    _step: Any = None  # how a device was called last (`DeviceStep`)

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str | None = None,
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        jit_compile: bool | None = None,
        autograph_options: Any = None,
        attributes: Any = None,
    ):
        if not callable(python_function):
            raise type_error("TW104", f"tf.function: {python_function!r} is not callable")
        self._python_function = python_function
        self._name = name or getattr(python_function, "__name__", type(python_function).__name__)
        self._autograph, self._reduce = autograph, reduce_retracing
        self._jit_compile, self._autograph_options = jit_compile, autograph_options
        self._attributes = attributes or {}
        self._bound: Any = weakref.WeakKeyDictionary()
        self._replicas: dict[Any, Function] | None = {}  # None: it is one of a replica itself
        self._signature = signature_of(python_function)
        self.input_signature = check_signature(input_signature, self)
        self._fast: dict[tuple, ConcreteFunction] = {}
        self._turn = Turn()  # whoever traces has it
        self._clear()
        functools.update_wrapper(self, unwrap_method(python_function), updated=())
        if dispatch.state.observer is not None:
            dispatch.state.observer.function_made(self)

    def _clear(self) -> None:
        self._traces: dict[Any, ConcreteFunction] = {}  # replaced, never changed: threads read it
        self._fast.clear()
        self._count = 0
        self._settled = self._warned = False  # settled: a trace succeeded, no more new variables
        self.reasons: list[str] = []

    # -- what it is

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return self._name

    @property
    def _concrete_variable_creation_fn(self) -> ConcreteFunction | None:
        """The first trace, as Keras asks for the graph that TensorBoard shows."""
        return next(iter(self._traces.values()), None)

    def experimental_get_tracing_count(self) -> int:
        """Count the traces of the Python function."""
        return self._count

    def retracing_reasons(self) -> list[str]:
        """Return the reasons of the last retraces, a sentence for each.

        >>> import talweg as tf
        >>> double = tf.function(lambda x: 2 * x)
        >>> _ = double(tf.constant(1)), double(tf.constant(1.0))
        >>> double.retracing_reasons()
        ['x: dtype float32, was int32']
        """
        return list(self.reasons)

    def all_traces(self) -> list[ConcreteFunction]:
        """Return the traces; a function with an input signature has one by now."""
        if self.input_signature is not None and not self._traces:
            self.get_concrete_function()
        return list(self._traces.values())

    _list_all_concrete_functions = all_traces  # as Keras asks for the traces of an endpoint

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return the signatures of all traces, as text."""
        texts = [trace.pretty_printed_signature(verbose) for trace in self.all_traces()]
        return ("\n\n" if verbose else "\n").join(texts)

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        traces = [] if save_type == "checkpoint" else self.all_traces()
        return {f"trace_{place}": trace for place, trace in enumerate(traces)}

    def report(self) -> Any:
        """Return the doctor's findings in its traces as a `talweg.doctor.Report`.

        >>> import talweg as tf
        >>> double = tf.function(lambda x: 2 * x)
        >>> _ = double(tf.ones([3]))
        >>> double.report().facts["trace 1"]
        '(float32[3]): 1 operations'
        """
        return hooks.function_report(self)

    def __repr__(self) -> str:
        count = "once" if self._count == 1 else f"{self._count} times"
        return f"<talweg function {self._name}, traced {count}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
        except TypeError:  # not hashable or no weak references
            return Function(self._python_function.__get__(instance), **self._options())
        if found is None:
            with _making:
                found = self._bound.get(instance)
                if found is None:
                    found = self._bound[instance] = Function(
                        Method(self._python_function, instance), **self._options()
                    )
        return BoundFunction(found, instance)

    def _options(self) -> dict:
        return {
            "name": self._name,
            "input_signature": self.input_signature,
            "autograph": self._autograph,
            "reduce_retracing": self._reduce,
            "jit_compile": self._jit_compile,
            "autograph_options": self._autograph_options,
            "attributes": self._attributes,
        }

    # -- calling

    def of_replica(self) -> Function:
        """Return the function of the present replica: its traces use that one's variables."""
        place = dispatch.context.replica
        if place is None or self._replicas is None:
            return self
        found = self._replicas.get(place)
        if found is None:
            with _making:
                found = self._replicas.get(place)
                if found is None:
                    found = Function(self._python_function, **self._options())
                    found._replicas, found._settled = None, self._settled
                    self._replicas[place] = found
        return found

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        try:
            if not kwargs and self.input_signature is None and not options.detours:
                try:
                    if len(args) == 1:
                        array = args[0]._array
                        trace = self._fast.get(((array.dtype, array.shape),))
                    else:
                        trace = self._fast.get(
                            tuple([(x._array.dtype, x._array.shape) for x in args])
                        )
                except (AttributeError, NeedsStaticError):  # not all of them eager tensors
                    trace = None
                if trace is not None:
                    return trace.call_flat(list(args))
                if len(args) == 1 and hasattr(type(args[0]), "trace_key"):
                    trace = self._fast.get((type(args[0]), args[0].trace_key))
                    if trace is not None and dispatch.context.base is None:
                        return trace.call_flat(args[0]._flat_components())
            elif options.detours:
                if options.run_eagerly:
                    return self._python_function(*args, **kwargs)
                if dispatch.context.replica is not None and self._replicas is not None:
                    return self.of_replica()(*args, **kwargs)
                step = self._step
                arrays = None if kwargs or step is None else step.arrays_of(args)
                if arrays is not None:
                    return step.call_with(arrays, args)
            concrete, taken = self._find(args, kwargs)
            self._step = concrete.step
            if not kwargs:
                count = -1 if taken.variables else len(taken.tensors)  # those of defaults, too
                if all([type(x) is EagerTensor for x in args]):  # or nothing at all
                    kinds = [(x.dtype, x.shape) for x in map(nearest, args)]
                    self._remember(concrete, kinds, count == len(args))
                elif len(args) == 1 and hasattr(type(args[0]), "trace_key"):
                    whole = count == len(args[0]._flat_components())
                    self._remember(concrete, [type(args[0]), args[0].trace_key], whole)
            return concrete.call_flat(taken.tensors, taken.variables)
        except Exception as error:
            pass_out(error)
            raise

    def _remember(self, concrete: ConcreteFunction, key: list, whole: bool) -> None:
        """Cache the fast path to the trace for arguments like these, if they are all it takes."""
        if whole and self.input_signature is None and dispatch.context.base is None:
            if len(self._fast) >= TRACES:
                self._fast.clear()
            self._fast[tuple(key)] = concrete

    @boundary
    def get_concrete_function(self, *args: object, **kwargs: object) -> ConcreteFunction:
        """Return the trace for arguments, which may be specs (`tf.TensorSpec`)."""
        if self.input_signature is not None and not args and not kwargs:
            args = tuple(self.input_signature)
        return self.of_replica()._find(args, kwargs)[0]

    def experimental_get_compiler_ir(self, *args: object, **kwargs: object) -> Callable[..., Any]:
        """Return the text of each compilation stage for these arguments (or specs).

        The function that is returned takes `stage`: 'hlo' (the operations, the default),
        'optimized_hlo' (the loops), 'fusion' (what is computed together, and why no more), 'llvm'
        or 'assembly'; 'hlo_serialized' is the module that XLA takes, bytes (needs JAX).  Nothing is
        run.  ValueError for another stage and where a size is unknown, InvalidArgumentError where
        nothing can be compiled.

        >>> import talweg as tf
        >>> double = tf.function(lambda x: 2 * x)
        >>> print(double.experimental_get_compiler_ir(tf.ones([8]))("optimized_hlo"), end="")
        program program
          input0: input float32[8]
          output1: output float32[8]
        kernel k0:  # mul
          for i0 in 8 vector:
            output1[i0] = mul(2.0:float32, input0[i0])
        """
        concrete, taken = self.of_replica()._find(args, kwargs, apart=True)
        return compiler_ir(concrete, taken.tensors)

    def _find(
        self, args: tuple, kwargs: dict, apart: bool = False
    ) -> tuple[ConcreteFunction, Taken]:
        """Return the trace for arguments (exactly these variables, if `apart`), and these."""
        args, kwargs = self._bind(args, kwargs)
        taken = Taken([args, kwargs], apart)
        found = self._trace_for(taken)
        if taken.variables and not found.serves(taken.variables):
            taken = Taken([args, kwargs], apart=True)
            found = self._trace_for(taken)
        return found, taken

    def _trace_for(self, taken: Taken) -> ConcreteFunction:
        tree, key = taken.tree, taken.key
        if self.input_signature is not None:
            key = signature_key(self.input_signature, taken.key)
        found = self._find_trace(key)
        if found is None:
            is_ours = self._turn.take()
            try:
                found = self._find_trace(key)  # another thread may have made it meanwhile
                if found is None:
                    found = self._new_trace(key, tree, taken)
            finally:
                if is_ours:
                    self._turn.give()
        return found

    def _find_trace(self, key: object) -> ConcreteFunction | None:
        """Return the trace for a key, if there is one."""
        traces = self._traces
        found = traces.get(key)
        found = found or next((t for k, t in traces.items() if covers(k, key)), None)
        if found is not None:
            found.used = next(_uses)
        return found

    def _bind(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Bind the arguments to the signature, defaults filled in; TypeError if they do not fit."""
        if self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise type_error(
                "TW104", f"Binding inputs to tf.function {self._name!r} failed: {error}"
            ) from None
        bound.apply_defaults()
        return self._as_signature(bound.args, bound.kwargs)

    def _as_signature(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Return the arguments as the input signature demands."""
        wanted = self.input_signature
        if wanted is None:
            return args, kwargs
        if len(args) < len(wanted):
            raise type_error(
                "TW104",
                f"{self._name}: {len(wanted)} arguments in the input signature, got {len(args)}",
            )
        found = [fit_argument(spec, value, self._name) for spec, value in zip(wanted, args)]
        return (*found, *args[len(wanted) :]), kwargs

    # -- tracing

    def _new_trace(self, key: Any, tree: Any, taken: Taken) -> ConcreteFunction:
        key = self._general(key)
        reason = self._explain(key)
        given = [t.name if isinstance(t, TensorSpec) else None for t in taken.tensors]
        names = [own or name for own, name in zip(given, self._names(tree))]
        types = [
            TensorSpec(dims, dtype, own) for (dtype, dims), own in zip(tensor_keys(key), given)
        ]
        specs = [TensorSpec(spec.shape, spec.dtype, name) for spec, name in zip(types, names)]
        concrete = self._trace(tree, specs, names, taken)
        if taken.variables:
            concrete.shared = may_be_shared(self._python_function, taken.variables)
            again = functools.partial(put_together, tree, types)
            concrete.again = lambda others: self._find(*again(others), apart=True)[0]
        concrete.structured_input_signature = tuple(specs_together(tree, specs))
        concrete.flat_inputs = types
        release_values(tree)
        concrete.parameters = self._describe_parameters(specs_together(tree, types))
        if not any(getattr(value, "graph", None) is not None for value in concrete._outside):
            self._keep(key, concrete)
        if dispatch.state.observer is not None:
            dispatch.state.observer.function_traced(self, concrete, reason)
        return concrete

    def _keep(self, key: object, concrete: ConcreteFunction) -> None:
        """Store a trace and evict the least recently used ones."""
        concrete.used = next(_uses)
        traces = {**self._traces, key: concrete}
        while len(traces) > TRACES:
            oldest = min(traces, key=lambda key: traces[key].used)
            dropped = traces.pop(oldest)
            for short in [k for k, t in list(self._fast.items()) if t is dropped]:
                self._fast.pop(short, None)
        self._traces = traces

    def _general(self, key: object) -> Any:
        """Return `key`, or a relaxed one if traces with other sizes exist already."""
        if self.input_signature is not None:
            return key
        limit = 1 if self._reduce else 2
        alike = [other for other in self._traces if relax_key(other, key) is not None]
        if len(alike) < limit:
            return key
        general = key
        for other in alike:
            general = relax_key(general, other) or general
        return general

    def _explain(self, key: object) -> str | None:
        """Record the reason of a retrace; warn once of a function that keeps retracing."""
        if not self._traces:
            return None
        nearest = max(self._traces, key=lambda key: self._traces[key].used)
        reason = self._reason(nearest, key)
        self.reasons = [*self.reasons[-REASONS + 1 :], reason]
        if settings.debug.get() >= 1:
            logging.getLogger("talweg").warning("tracing %s again: %s", self._name, reason)
        if len(self.reasons) + 1 >= MANY and not self._warned:
            self._warned = True
            logging.getLogger("talweg").warning(
                "%s was traced %d times, last because of %s.  Pass tensors instead of Python "
                "values that change, keep dtypes the same, define tf.functions outside of loops, "
                "or use reduce_retracing=True for sizes.",
                self._name,
                len(self.reasons) + 1,
                reason,
            )
        return reason

    def _reason(self, old: Any, new: Any) -> str:
        old_args, new_args = old[2][0], new[2][0]
        names = self._parameter_names(max(len(old_args[2]), len(new_args[2])))
        for name, a, b in zip(names, old_args[2], new_args[2]):
            found = difference(a, b, name)
            if found is not None:
                return found
        return difference(old[2][1], new[2][1], "keyword arguments") or "other arguments"

    def _parameter_names(self, count: int) -> list[str]:
        """Return a name for each of `count` positional arguments; those of `*args` are numbered."""
        own, rest = positional(self._signature)
        names = [parameter.name for parameter in own]
        return [*names, *[f"{rest}_{i}" for i in range(count - len(names))]][:count]

    def _names(self, tree: Any) -> list[str]:
        """Return a name for each tensor argument: the parameter's, numbered inside nests."""
        args, kwargs = tree.children
        found: list[str] = []
        pairs = list(zip(self._parameter_names(len(args.children)), args.children))
        pairs += list(zip(structure.sort_keys(kwargs.like), kwargs.children))
        for name, child in pairs:
            count = sum([type(place) is ArgumentPlace for place in places_of(child)])
            found += [name if number == 0 else f"{name}_{number}" for number in range(count)]
        unique: dict[str, int] = {}
        for place, name in enumerate(found):
            unique[name] = unique.get(name, 0) + 1
            if unique[name] > 1:
                found[place] = f"{name}_{unique[name] - 1}"
        return found

    def _describe_parameters(self, arguments: tuple) -> list[tuple]:
        """Return each parameter's name, its kind, and the type it was traced for."""
        args, kwargs = arguments
        own, rest = positional(self._signature)
        kinds = {p.name: p.POSITIONAL_ONLY if rest else p.kind for p in own}
        names = self._parameter_names(len(args))
        found = [
            (name, kinds.get(name, inspect.Parameter.POSITIONAL_ONLY), value)
            for name, value in zip(names, args)
        ]
        return found + list_keywords(kwargs)

    def _trace(self, tree: Any, specs: list, names: list, taken: Taken) -> ConcreteFunction:
        function = self._python_function
        if isinstance(function, Method):
            function = function.bound  # so that AutoGraph sees a method
        if self._autograph:
            function = hooks.autograph_converted(function, self._autograph_options)
        else:
            function = hooks.autograph_unconverted(function)
        trace = functools.partial(self._trace_once, function, tree, specs, names, taken.variables)
        concrete, made = trace(None if self._settled else taken.tensors)
        self._settled = True
        if made:  # what they were made for must not happen in every call
            concrete, _ = trace(None)
        return concrete

    def _trace_once(
        self,
        function: Callable[..., Any],
        tree: Any,
        specs: list,
        names: list,
        variables: list,
        given: list | None,
    ) -> tuple[ConcreteFunction, bool]:
        """Trace, and tell whether variables were made: the first trace takes them from `given`."""
        outer = dispatch.context.base
        graph = TraceGraph(self._name)
        graph.may_make_variables, graph.given = given is not None, given
        concrete = ConcreteFunction(self._name, graph, tree, specs, self._attributes)
        self._count += 1
        try:
            concrete.trace(function, names, variables)
        except BaseException:
            dispatch.context.base = outer
            raise
        finally:
            graph.given = None
        return concrete, graph.made_variables

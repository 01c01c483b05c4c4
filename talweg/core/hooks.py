"""Hooks: functions of higher layers that lower layers call, declared with their signatures.

A layer imports only from those below it.  Where it has to call one above (a rule that makes a
tensor of a number, a graph that is evaluated in a session), it calls a hook declared here.  The
higher layer has the implementation: it assigns it (`hooks.loop_vjp = loop_vjp`) or, where modules
are loaded name by name, decorates it with `api.export.implement_hook`; its module is found through
the name table when the hook is first called.  A test compares declarations and implementations.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.core.shapes import TensorShape
    from talweg.core.value import IndexedSlices, Tensor

Cotangents = list[Any]  # a tensor, IndexedSlices or None for each operand
Tangents = tuple[Any, ...]  # a tensor or None for each result
Operands = tuple[Any, ...]


class Hooks:
    """The hooks of this process, each an attribute once it is implemented or first asked for."""

    finder: Callable[[str], None] | None = None  # imports the module that implements a hook

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            if self.finder is not None and not name.startswith("__"):
                self.finder(name)
            if name not in self.__dict__:
                raise AttributeError(f"no hook {name!r} is implemented")
            return self.__dict__[name]

    else:
        # -- conversion ------------------------------------------------------------------

        @staticmethod
        def convert_to_tensor(value: object, dtype: object = None) -> Any:
            """Return `value` as a tensor.  `eager.convert`"""
            ...

        @staticmethod
        def cast(x: object, dtype: object) -> Any:
            """Return `x` in another dtype.  `api.tensors`"""
            ...

        @staticmethod
        def dense(slices: IndexedSlices) -> Tensor:
            """Return IndexedSlices as a tensor.  `api.array.gathering`"""
            ...

        @staticmethod
        def shape_in_tensor(sizes: object) -> TensorShape:
            """Return the static shape of an integer vector's numbers.  `api.array.shapes`"""
            ...

        @staticmethod
        def parts_of_components(spec: Any) -> list[Any]:
            """Return the specs of the tensors of a library's spec.
            `private.internal.composites`
            """
            ...

        @staticmethod
        def value_of_components(spec: Any, parts: Any) -> Any:
            """Return the value of a library's spec, of its tensors.
            `private.internal.composites`
            """
            ...

        @staticmethod
        def look_up_export(name: str) -> Any:
            """Return a public function by its name.  `api.autograph`"""
            ...

        # -- operators, which tensors call by name (`core.value.BINARY` and its like) ----

        @staticmethod
        def add(x: object, y: object) -> Any:
            """Return x + y.  `eager.operators`, as all of the following"""
            ...

        @staticmethod
        def subtract(x: object, y: object) -> Any: ...
        @staticmethod
        def multiply(x: object, y: object) -> Any: ...
        @staticmethod
        def truediv(x: object, y: object) -> Any: ...
        @staticmethod
        def floordiv(x: object, y: object) -> Any: ...
        @staticmethod
        def mod(x: object, y: object) -> Any: ...
        @staticmethod
        def pow(x: object, y: object) -> Any: ...
        @staticmethod
        def matmul(x: object, y: object) -> Any: ...
        @staticmethod
        def negative(x: object) -> Any: ...
        @staticmethod
        def abs(x: object) -> Any: ...
        @staticmethod
        def invert(x: object) -> Any: ...
        @staticmethod
        def less(x: object, y: object) -> Any: ...
        @staticmethod
        def less_equal(x: object, y: object) -> Any: ...
        @staticmethod
        def greater(x: object, y: object) -> Any: ...
        @staticmethod
        def greater_equal(x: object, y: object) -> Any: ...
        @staticmethod
        def equal_operator(x: object, y: object) -> Any: ...
        @staticmethod
        def not_equal_operator(x: object, y: object) -> Any: ...
        @staticmethod
        def bitwise_and(x: object, y: object) -> Any: ...
        @staticmethod
        def bitwise_or(x: object, y: object) -> Any: ...
        @staticmethod
        def bitwise_xor(x: object, y: object) -> Any: ...

        # -- arrays ----------------------------------------------------------------------

        @staticmethod
        def getitem(x: Tensor, key: object) -> Any:
            """Return `x[key]`.  `api.array.slicing`"""
            ...

        @staticmethod
        def variable_getitem(variable: object, key: object) -> Any:
            """Return `variable[key]`, which can be assigned.  `api.array.slicing`"""
            ...

        @staticmethod
        def reshape(tensor: object, shape: object) -> Any:
            """Return `tensor` in another shape.  `api.array.shapes`"""
            ...

        @staticmethod
        def broadcast_to(input: object, shape: object) -> Any:
            """Return `input` repeated to a shape.  `api.array.shapes`"""
            ...

        @staticmethod
        def stack(values: list[Any]) -> Tensor:
            """Return tensors along a new first axis.  `api.array.joining`"""
            ...

        @staticmethod
        def gather(
            params: object, indices: object, *, axis: object = None, batch_dims: int = 0
        ) -> Any:
            """Return slices of `params` that indices name.  `api.array.gathering`"""
            ...

        @staticmethod
        def gather_nd(params: object, indices: object) -> Any:
            """Return slices of `params` at coordinates.  `api.array.gathering`"""
            ...

        @staticmethod
        def boolean_mask(tensor: object, mask: object) -> Any:
            """Return elements of `tensor` where a mask is true.  `api.array.gathering`"""
            ...

        @staticmethod
        def tensor_with_item(x: object, index: object, value: object) -> Any:
            """Return `x` as it were after `x[index] = value`.  `api.autograph`"""
            ...

        # -- derivatives -----------------------------------------------------------------

        @staticmethod
        def add_slices(x: object, y: object) -> Any:
            """Return x + y where one is IndexedSlices.  `api.array.gathering`"""
            ...

        @staticmethod
        def jacobian_rows(sweep: Callable, y: Tensor, at_once: bool) -> list:
            """Return the rows of a Jacobian.  `api.autodiff`"""
            ...

        @staticmethod
        def batch_jacobian_rows(sweep: Callable, y: Tensor, x: Tensor, at_once: bool) -> Any:
            """Return the rows of a batch Jacobian.  `api.autodiff`"""
            ...

        @staticmethod
        def with_registered_gradient(graph: object, results: object, overrides: dict) -> Any:
            """Return results under the gradient registered
            for their type. `api.registered_gradients`
            """
            ...

        @staticmethod
        def for_each_slice(
            prim: object, size: object, kinds: tuple, operands: list, params: dict
        ) -> Any:
            """Return a primitive of each slice of a batch, in a loop.  `trace.batch_rules`"""
            ...

        @staticmethod
        def branch_batch(size: object, kinds: tuple, operands: Operands, bodies: tuple) -> Any:
            """Return the batch rule of `branch`.  `trace.batch_rules`, as the next two"""
            ...

        @staticmethod
        def loop_batch(size: object, kinds: tuple, operands: Operands, **params: object) -> Any: ...
        @staticmethod
        def call_batch(
            prim: object, size: object, kinds: tuple, operands: Operands, body: object
        ) -> Any: ...

        @staticmethod
        def branch_vjp(
            g: tuple, z: tuple, index: object, operands: Operands, bodies: tuple, wanted: list
        ) -> Cotangents:
            """Return the derivatives of `branch`, `loop` and `again`.  `trace.control_rules`"""
            ...

        @staticmethod
        def branch_jvp(
            t: tuple, z: tuple, index: object, operands: Operands, bodies: tuple
        ) -> Tangents: ...
        @staticmethod
        def loop_vjp(
            g: tuple, z: tuple, operands: Operands, body: object, count: int, wanted: list
        ) -> Cotangents: ...
        @staticmethod
        def loop_jvp(
            t: tuple, z: tuple, operands: Operands, body: object, count: int
        ) -> Tangents: ...
        @staticmethod
        def again_vjp(g: tuple, operands: Operands, body: object, wanted: list) -> Cotangents: ...
        @staticmethod
        def again_jvp(t: tuple, operands: Operands, body: object) -> Tangents: ...
        @staticmethod
        def call_vjp(
            g: tuple, z: tuple, operands: Operands, body: object, wanted: list
        ) -> Cotangents:
            """Return the derivatives of `call`.  `trace.call_rules`"""
            ...

        @staticmethod
        def call_jvp(t: object, z: tuple, operands: Operands, body: object) -> Tangents: ...
        @staticmethod
        def taped_call_vjp(g: tuple, z: tuple, operands: Operands, call: object) -> Cotangents:
            """Return the derivatives of a Python function's call.  `trace.host_calls`"""
            ...

        @staticmethod
        def taped_call_jvp(t: tuple, z: tuple, operands: Operands, call: object) -> Tangents: ...
        @staticmethod
        def whole_vjp(
            g: tuple, z: tuple, operands: Operands, call: object, sizes: tuple
        ) -> Cotangents:
            """Return the derivatives of an opaque call.  `trace.opaque_calls`"""
            ...

        @staticmethod
        def whole_jvp(
            t: tuple, z: tuple, operands: Operands, call: object, sizes: tuple
        ) -> Tangents: ...
        @staticmethod
        def vjp_whole(
            prim: object, g: object, z: object, operands: Operands, params: dict
        ) -> Cotangents:
            """Return the reverse of a primitive as an opaque call.  `trace.opaque_calls`"""
            ...

        # -- variables -------------------------------------------------------------------

        @staticmethod
        def variable_class(graph: object) -> type:
            """Return the class of variables made in a graph.  `eager.graph_variable`"""
            ...

        @staticmethod
        def placed_variable(*args: object, **kwargs: object) -> Any:
            """Return a variable on a device.  `eager.placed`"""
            ...

        @staticmethod
        def update_variable(
            *operands: object, variable: object, rule: object, **params: object
        ) -> Any:
            """Return a write into a variable.  `eager.variable`"""
            ...

        @staticmethod
        def lift_initial_value(value: object) -> Any:
            """Return a variable's initial value, out of the trace that made it.  `api.function`"""
            ...

        # -- traces ----------------------------------------------------------------------

        @staticmethod
        def trace_paths(graph: object, function: Callable[[], list]) -> list:
            """Return the results of a function traced along every path.  `trace.paths`"""
            ...

        @staticmethod
        def autograph_converted(python_function: Callable, features: object = None) -> Callable:
            """Return a Python function as AutoGraph converts it.  `api.function`"""
            ...

        @staticmethod
        def autograph_unconverted(python_function: Callable) -> Callable:
            """Return a Python function that AutoGraph leaves alone.  `api.function`"""
            ...

        @staticmethod
        def assert_in_graph(condition: object, data: list) -> None:
            """Assert a symbolic tensor.  `api.autograph`"""
            ...

        @staticmethod
        def print_in_graph(values: tuple, sep: str | None, end: str | None) -> None:
            """Print symbolic tensors.  `api.autograph`"""
            ...

        @staticmethod
        def enable_ragged_dispatch() -> None:
            """Have functions look for ragged tensors from now on.  `api.ragged.dispatched`"""
            ...

        # -- primitives that graphs are made of.  `prims.state` --------------------------

        after_p: Primitive  # an operation's result, once its control inputs have run
        constant_p: Primitive
        item_p: Primitive  # one of several results
        placeholder_p: Primitive
        read_variable_p: Primitive
        reread_p: Primitive  # a variable's value after a write

        # -- graphs and sessions ---------------------------------------------------------

        @staticmethod
        def default_graph() -> Any:
            """Return the graph operations go to.  `compat_v1.graphs`"""
            ...

        @staticmethod
        def get_default_session() -> Any:
            """Return the session entered last.  `compat_v1.sessions.session`"""
            ...

        @staticmethod
        def evaluate_in_session(value: object, feed_dict: object, session: object) -> Any:
            """Return the value of a symbol.  `compat_v1.sessions.session`"""
            ...

        @staticmethod
        def load_in_session(variable: object, value: object, session: object) -> None:
            """Give a variable a new value in a session.  `compat_v1.sessions.session`"""
            ...

        @staticmethod
        def operation_attribute(node: object, name: str) -> Any:
            """Return an attribute of a node.  `compat_v1.attributes`"""
            ...

        @staticmethod
        def device_spec(given: object) -> Any:
            """Return a device as a DeviceSpec.  `api.device`"""
            ...

        @staticmethod
        def device_for(scopes: tuple, made: object) -> str:
            """Return the device of an operation inside device scopes.  `api.device`"""
            ...

        @staticmethod
        def graph_def(
            graph: object,
            from_version: int | None = None,
            add_shapes: bool = False,
            **options: object,
        ) -> Any:
            """Return a graph as a GraphDef message.  `interop.graph_def.exporting`"""
            ...

        @staticmethod
        def node_def(node: object, graph: object) -> Any:
            """Return a node as a NodeDef message.  `interop.graph_def.exporting`"""
            ...

        @staticmethod
        def variable_to_proto(variable: object, export_scope: str | None) -> Any:
            """Return a variable as a VariableDef message.  `interop.graph_def.variable_defs`"""
            ...

        @staticmethod
        def variable_from_proto(message: object, import_scope: str | None) -> Any:
            """Return the variable that a VariableDef names.  `interop.graph_def.variable_defs`"""
            ...

        # -- modules below `tensorflow` that are not its namespaces ----------------------

        @staticmethod
        def functions_of(obj: object) -> dict[str, Any]:
            """Return the traced functions among attributes
            and methods.  `interop.saved_model.surveying`
            """
            ...

        @staticmethod
        def wrap_container(value: object) -> Any:
            """Return a list, dictionary or tuple that is trackable.  `interop.checkpoint`"""
            ...

        @staticmethod
        def is_private_module(name: str) -> bool:
            """Return whether there is a private module
            of a name relative to `tf`. `private.modules`
            """
            ...

        @staticmethod
        def private_module(name: str) -> ModuleType:
            """Return the module ``tensorflow.<name>``.  `private.modules`"""
            ...

        @staticmethod
        def note_absent_module(name: str) -> None:
            """Warn, once, of a private name that is not there.  `private.modules`"""
            ...

        @staticmethod
        def refuse_library(name: str) -> None:
            """Raise ImportError if an installed library cannot work on talweg.
            `private.refused`
            """
            ...

        @staticmethod
        def adapt_library_spec(fullname: str, path: object) -> Any:
            """Return how a module of a library that is adapted is loaded.  `private.adapting`"""
            ...

        @staticmethod
        def show_definitions(module: ModuleType) -> None:
            """Let a module of tf2onnx make graphs that show what they import.
            `private.definition_graph`
            """
            ...

        # -- execution -------------------------------------------------------------------

        @staticmethod
        def convolution_routines() -> Any:
            """Return machine code for convolutions, or None.  `execute.eager_kernels`"""
            ...

        # -- diagnosis -------------------------------------------------------------------

        @staticmethod
        def explain_absence(
            tape: object, target: object, sources: object, frame: FrameType | None
        ) -> Any:
            """Return the explanation of a gradient.  `api.explaining`"""
            ...

        @staticmethod
        def absence_as_error(evidence: object) -> Exception:
            """Return a ValueError that explains an absent gradient.  `api.explaining`"""
            ...

        @staticmethod
        def absence_in_a_line(evidence: object) -> str:
            """Return a line for the log about an absent gradient.  `api.explaining`"""
            ...

        @staticmethod
        def html_view(value: object) -> str:
            """Return a notebook's view of a tensor, a variable, ...  `api.views`"""
            ...

        @staticmethod
        def graph_report(graph: object, session: object = None, loss: object = None) -> Any:
            """Return `tf.Graph.report`.  `api.reports`"""
            ...

        @staticmethod
        def function_report(function: object) -> Any:
            """Return `tf.function(...).report`.  `api.reports`"""
            ...


hooks = Hooks()

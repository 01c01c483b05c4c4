"""FunctionGraph: the graph of a function, branch or loop body under construction.

It captures what it uses from outside as inputs of its own, keeps the operations with effects in
program order, and knows which variables they wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dim_walks import atoms_of, substitute
from talweg.core.dims import Dim, is_symbolic, of_atom
from talweg.core.errors import (
    InaccessibleTensorError,
    NeedsStaticError,
    compose,
    type_error,
    value_error,
)
from talweg.core.hooks import hooks
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.core.value import Tensor
from talweg.graph.contents import element
from talweg.graph.graph import Graph, variable_dims
from talweg.graph.handle import Handle
from talweg.graph.node import INPUT, READ, WRITE, Node
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.dims import Atom
    from talweg.core.primitive import Primitive


class FunctionGraph(Graph):
    """The body of a function, branch or loop under construction: inputs, captures, results."""

    building_function = True
    may_make_variables = False
    made_variables = False
    leaks_are: type = InaccessibleTensorError  # what using its tensors elsewhere raises
    given: Any = None  # the values of the inputs, while it is traced for a call that has them
    outer_reference: Any = None  # to the outer graph of a closed trace, which does not keep it
    paths: Any = None  # what traces it along every path of Python `if`s, see trace/paths.py

    def __init__(self, name: str = "function", as_v1: bool = False):
        self.outer = dispatch.context.base
        super().__init__()
        # That of the trace's beginning, as in TensorFlow: a seed that is set meanwhile is later.
        self.seed = dispatch.state.seed if self.outer is None else self.outer.seed
        if self.outer is not None:
            self.collections, self.shares_collections = self.outer.collections, True
        self.function_name = name
        self.building_function = not as_v1
        self.input_nodes: list[Node] = []
        self.captured: dict[int, tuple[Any, Node]] = {}  # by id: what is outside, what is inside
        self.sizes: dict[Any, Any] = {}  # sizes outside -> sizes inside
        self.effects: list[Node] = []  # in program order; all of them run
        self.met = 0  # how many of them this run of the function has come to
        self.writes: dict[Any, Node] = {}  # variable -> what wrote it last
        self.pending_writes: dict[Any, None] = {}  # variables that the next operation writes
        self.inside: frozenset = frozenset()  # variables that must be read here
        self.waited: set[Node] = set()  # what is captured because something waits for it
        self.elsewhere: dict = {}  # variables that Python writes when the graph runs: how to read
        self.closed = False

    @property
    def outer_graph(self) -> Any:
        """The graph that was in force where the trace of this one began; the default one if that
        is gone.
        """
        outer = self.outer if self.outer_reference is None else self.outer_reference()
        return hooks.default_graph() if outer is None else outer

    def note_variable(self, name: str) -> None:
        """Record that a variable is created here; ValueError except on a function's first trace."""
        graph: Any = self
        while isinstance(graph, FunctionGraph):
            if graph.may_make_variables:
                graph.made_variables = True
                return
            graph = graph.outer
        raise value_error(
            "TW401",
            "tf.function only supports singleton tf.Variables created on the first call. Make sure "
            f"the tf.Variable is only created once or created outside tf.function: {name!r}",
            hint="make it outside (in __init__ of a class), or once: if self.v is None: ...",
        )

    def add_input(self, aval: Aval) -> Symbol:
        """Add an input of this abstract value and return it."""
        symbol = self._input(aval)
        self.input_nodes.append(symbol.node)
        return symbol

    def _input(self, aval: Aval) -> Symbol:
        """Make a placeholder for a value from outside; sizes equal outside are equal here."""
        dims = aval.dims
        if dims is None or not is_symbolic(dims):
            return self.placeholder(dims, aval.dtype)
        wanted = tuple([self.sizes.get(size) if type(size) is Dim else size for size in dims])
        symbol = self.placeholder(wanted, aval.dtype)
        for outside, inside in zip(dims, symbol.dims):
            if type(outside) is Dim:
                self.sizes.setdefault(outside, inside)
        self.table.symbolic = True
        return symbol

    def bring_in(self, value: object) -> Symbol:
        """Return the tensor here of `value`, from outside, which is captured on first use."""
        captured = self.captured.get(id(value))
        if captured is not None:
            return self.symbol(captured[1])
        if self.closed:
            raise self.leak()
        if type(value) is Symbol:
            self._check_scope(value)
            if value.node.prim.role is Role.CONSTANT:
                content = value.node.params["value"]
                if not content.captured and not content.given:
                    return self.constant(content.array)
            if value.node.prim.role is Role.REQUIREMENT and value.node.params.get("where_used"):
                parts = [self.bring_in(value.graph.symbol(part)) for part in value.node.operands]
                nodes = tuple([part.node for part in parts])
                return self.apply(value.node.prim, value.node.key[1], nodes)
            aval = value.aval
        elif isinstance(value, Tensor):
            aval = getattr(value, "aval", None) or Aval(value.dims, value.dtype)
        else:
            raise type_error("TW104", f"{value!r} is not a tensor")
        symbol = self._input(aval)
        self.captured[id(value)] = (value, symbol.node)
        symbol.node.holders += 1
        return symbol

    def check_in_force(self, operands: tuple) -> None:
        """Accept the operands: a body's derivatives are also built while outer code runs."""

    def control_node(self, control: object) -> Node | None:
        """Return the node to wait for; one from outside is captured even if no result needs it."""
        node = super().control_node(control)
        if node is not None:
            self.waited.add(node)
        return node

    def _check_scope(self, symbol: Symbol) -> None:
        graph = self.outer
        while graph is not None:
            if graph.table is symbol.node.table:
                return
            graph = getattr(graph, "outer", None)
        owner = symbol.graph
        name = getattr(owner, "function_name", "another graph")
        kind = getattr(owner, "leaks_are", InaccessibleTensorError)
        raise kind(
            compose(
                "TW502",
                f"{symbol!r} is out of scope: it belongs to {name!r}, where it was made at "
                f"{describe(symbol.node.origin)}, and cannot be used in {self.function_name!r}",
                "a tensor made inside the function, or passed to it",
                "return the tensor from the function that makes it",
            )
        )

    def leak(self) -> Exception:
        """Make the error for a tensor of this graph that is used after its trace has ended."""
        text = f"a tensor of {self.function_name!r} was used after that had been traced"
        return self.leaks_are(compose("TW502", text, hint="return it from the function"))

    def bind(self, prim: Primitive, operands: tuple, params: dict) -> Any:
        """Build the node(s) of `prim`, in a derived body's graph if operands belong to one."""
        base = dispatch.context.base
        if self.closed and base is not None and base is not self:
            return base.bind(prim, operands, params)
        return super().bind(prim, operands, params)

    def apply(self, prim: Any, params: tuple, nodes: tuple, aval: Aval | None = None) -> Any:
        if self.closed:
            raise self.leak()
        if params and (self.sizes or self.outer is not None):
            params = tuple([(key, self.size_inside(value)) for key, value in params])
        if prim.effect is None:
            return super().apply(prim, params, nodes, aval)
        met = self._meet(prim, params, nodes)
        if met is not None:
            return met
        results = super().apply(prim, params, nodes, aval)
        self._note_effect(results[0].node.inputs[0] if prim.multiple else results.node)
        return results

    def truth_of(self, symbol: Symbol) -> bool:
        """Return the truth value on the path being traced; an error where paths are not traced."""
        if self.paths is None or not self.building_function:
            return super().truth_of(symbol)
        return self.paths.ask(symbol)

    def start_run(self) -> None:
        """Restart the trace of the function: effects made before are reused, not repeated."""
        self.met, self.writes, self.pending_writes = 0, {}, {}

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Remove effects that the block made if it raises."""
        before = len(self.effects), self.met, dict(self.writes), dict(self.pending_writes)
        try:
            yield
        except Exception:
            count, self.met, self.writes, self.pending_writes = before
            undone, self.effects[count:] = self.effects[count:], []
            for node in undone:
                self.table.release(node)
            raise

    def _meet(self, prim: Primitive, params: tuple, nodes: tuple) -> Any:
        """Return the result(s) of the effect that an earlier run made at this position, or None."""
        if self.met >= len(self.effects):
            return None
        node = self.effects[self.met]
        if prim is not node.prim or nodes != node.operands or not _alike(params, node.key[1]):
            return None
        self._note_effect(node)
        if prim.multiple:
            return tuple(
                [
                    self.symbol(self.table.intern(hooks.item_p, (("index", i),), (node,), part))
                    for i, part in enumerate(node.aval)
                ]
            )
        return self.symbol(node)

    def _note_effect(self, node: Node) -> None:
        """Record an effect in program order, and the variables that it writes."""
        if node.serial is None or node.prim.effect in (READ, INPUT):
            return
        if self.met < len(self.effects) and self.effects[self.met] is node:
            self.met += 1
        elif not self.effects or self.effects[-1] is not node:
            self.effects.append(node)
            self.met = len(self.effects)
            node.holders += 1
        if node.prim.effect == WRITE:
            self.writes[node.params["variable"]] = node
        for variable in self.pending_writes:
            self.writes[variable] = node
        self.pending_writes = {}

    @contextmanager
    def outer_context(self) -> Iterator[None]:
        """Build operations in the outer graph, inside the block."""
        before = dispatch.context.base
        dispatch.context.base = self.outer
        try:
            yield
        finally:
            dispatch.context.base = before

    def find_forced(self) -> tuple:
        """Return the operations that run whether or not a result needs them."""
        return tuple(self.effects)

    def read_variable(self, handle: Handle) -> Symbol:
        """Return a variable's value, captured from outside unless it was written in here."""
        key = handle
        if key in self.elsewhere:
            return self.elsewhere[key](key)
        written = self.writes.get(key)
        if written is None and key not in self.inside:
            return self._start_of(handle)
        nodes = (written,) if written is not None else ()
        aval = Aval(variable_dims(handle), handle.dtype)
        node = self.table.intern(hooks.read_variable_p, (("variable", key),), nodes, aval)
        if self.building_function and handle.dtype.is_floating:
            node = self.table.intern(hooks.reread_p, (), (node, self._start_of(handle).node), aval)
        return self.symbol(node)

    def _start_of(self, handle: Handle) -> Symbol:
        """Return the tensor of the variable's value at the start of the body."""
        if self.outer is None:
            return self.capture_variable(handle)
        return self.bring_in(self.outer.read_variable(handle))

    def capture_variable(self, handle: Handle) -> Symbol:
        """Return the variable's value at the time of the call, as an input."""
        found = self.captured.get(id(handle))
        if found is not None:
            return self.symbol(found[1])
        symbol = self._input(Aval(variable_dims(handle), handle.dtype))
        self.captured[id(handle)] = (handle, symbol.node)
        symbol.node.holders += 1
        return symbol

    def size_inside(self, value: object) -> Any:
        """Return a parameter with each size of the outer graph replaced by one of this graph."""
        if type(value) is tuple:
            return tuple([self.size_inside(item) for item in value])
        if type(value) is not Dim:
            return value
        found = self.sizes.get(value)
        if found is not None:
            return found
        if all(self._is_inside(atom) for atom in atoms_of(value)):
            return value
        inside = substitute(value, self._atom_inside)
        if inside is None:
            raise NeedsStaticError(f"the size {value!r} is not known in {self.function_name!r}")
        return inside

    def _is_inside(self, atom: Atom) -> bool:
        source = atom.source
        return source is not None and source.table is self.table

    def _atom_inside(self, atom: Atom) -> Any:
        outside = of_atom(atom)
        if self._is_inside(atom):
            return outside
        inside = self.sizes.get(outside)
        if inside is None:
            source = atom.source
            graph = None if source is None else source.table.owner()
            if graph is None:
                return None
            inner = self.bring_in(graph.symbol(source))
            if atom.kind == "size":
                inside = inner.dims[atom.place]
            else:
                inside = element(inner.node, atom.place)
            self.sizes[outside] = inside
        return inside


def _alike(new: tuple, old: tuple) -> bool:
    """Return whether two parameters are equal, where bodies compare by name and size."""
    if len(new) != len(old):
        return False
    for (key, a), (other, b) in zip(new, old):
        if key != other:
            return False
        pairs = zip(a, b) if type(a) is tuple and type(b) is tuple else [(a, b)]
        for x, y in pairs:
            if hasattr(x, "nodes") and hasattr(y, "nodes"):
                if x.name != y.name or len(x.nodes) != len(y.nodes):
                    return False
            elif x != y:
                return False
    return True

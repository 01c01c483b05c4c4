"""Writing nodes of a GraphDef or a FunctionDef: names, inputs, attributes that follow from inputs.

A `Writer` fills one graph or function.  `Made` is an operation that is described and not written
yet; `realise` writes it, with what it takes, and gives its outputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core.dims import Dim
from talweg.core.dtypes import DType, as_dtype, int32, int64
from talweg.core.errors import OpError, UnimplementedError, compose
from talweg.core.shapes import TensorShape, as_shape
from talweg.graph.node import Node
from talweg.interop.graph_def import attributes
from talweg.interop.graph_def.tensor_protos import array_to_proto
from talweg.raw import operations

if TYPE_CHECKING:
    from talweg.core.dims import Atom, Size
    from talweg.raw.operations import OpSignature

LARGEST = 2**31 - 1


class Output(NamedTuple):
    """A tensor that is written: the node's name, the number of the output, and how a function
    names it."""

    node: str
    number: int
    inner: str
    dtype: DType


class WrittenNode:
    """An operation to be written; `part` is the number of the output that is meant, if any."""

    __slots__ = ("attributes", "inputs", "op", "part")

    def __init__(self, op: str, inputs: tuple, given: dict, part: int | None = None):
        self.op, self.inputs, self.attributes, self.part = op, inputs, given, part

    def __getitem__(self, part: int) -> WrittenNode:
        return WrittenNode(self.op, self.inputs, self.attributes, part)


class Literal(NamedTuple):
    """A constant to be written."""

    array: Any


def cannot_write(what: str) -> OpError:
    """Make the error of a value that has no form in a GraphDef."""
    return UnimplementedError(None, None, compose("TW506", f"{what} has no form in a GraphDef"))


class Writer:
    """Fills `nodes`, a repeated field of NodeDefs.  `inside`: inputs are named as in functions."""

    def __init__(self, nodes: Any, inside: bool, taken: Iterable[str] = (), shapes: bool = False):
        self.nodes, self.inside, self.shapes = nodes, inside, shapes
        self.taken = dict.fromkeys([name.lower() for name in taken])  # names, in order
        self.values: dict[Node, list[Output]] = {}
        self.sizes: dict[Any, Output] = {}
        self.constants: dict[Node, Output] = {}
        self.place = ""  # the name of the operation that is being written

    def near(self, name: str) -> str:
        """Put `name` inside the scope of the operation that is being written."""
        return f"{self.place}/{name}" if self.place else name

    def unique(self, name: str) -> str:
        """Number `name` if it is taken."""
        found, number = name, 0
        while found.lower() in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken[found.lower()] = None
        return found

    def text(self, output: Output) -> str:
        """Return an input as the node that takes it names it."""
        if self.inside:
            return output.inner
        return output.node if output.number == 0 else f"{output.node}:{output.number}"

    # -- nodes

    def node(
        self, op: str, name: str, inputs: list, given: dict, controls: Iterable[str] = ()
    ) -> list[Output]:
        """Write a node of exactly this name; `inputs` are outputs, or lists of them."""
        operation = operations.find(op)
        if operation is None or len(operation.inputs) != len(inputs):
            raise cannot_write(f"{op} with {len(inputs)} inputs")
        message = self.nodes.add()
        message.name, message.op = name, op
        values = _infer_attributes(operation, inputs, given)
        for part, value in zip(operation.inputs, inputs):
            message.input.extend([self.text(x) for x in (value if part.is_list else [value])])
        message.input.extend([f"^{control}" for control in dict.fromkeys(controls)])
        for key, (kind, default) in operation.attributes.items():
            value = values.get(key, default)
            if value is operations.REQUIRED:
                raise cannot_write(f"{op} '{name}' without {key}")
            if kind == "shape" and value is None:
                value = TensorShape(None)
            if kind != "func" or value:
                message.attr[key].CopyFrom(attributes.write(value, kind))
        if self.shapes and op in _KNOWN_SHAPES:
            note_output_shapes(message, [_KNOWN_SHAPES[op](values)])
        return self._outputs(operation, name, {**_defaults(operation), **values})

    def _outputs(self, operation: OpSignature, name: str, values: dict) -> list[Output]:
        found: list[Output] = []
        for part in operation.outputs:
            for place, dtype in enumerate(part.dtypes(values)):
                inner = f"{name}:{part.name}:{place}"
                found.append(Output(name, len(found), inner, dtype))
        return found

    def note_attribute(self, key: str, message: Any) -> None:
        """Add one more attribute of the node written last."""
        self.nodes[-1].attr[key].CopyFrom(message)

    def constant(self, array: np.generic | np.ndarray, name: str) -> Output:
        """Return a Const of a new name."""
        array = np.asarray(array)
        given = {"value": array_to_proto(array), "dtype": as_dtype(array.dtype)}
        return self.node("Const", self.unique(name), [], given)[0]

    # -- descriptions

    def realise(
        self, made: Literal | Output | WrittenNode, name: str, controls: Iterable[str] = ()
    ) -> list[Output]:
        """Write a described node, under exactly this name; its outputs."""
        if isinstance(made, Output):
            return self.node("Identity", name, [made], {}, controls)
        if isinstance(made, Literal):
            given = {"value": array_to_proto(np.asarray(made.array))}
            given["dtype"] = as_dtype(np.asarray(made.array).dtype)
            return self.node("Const", name, [], given, controls)
        if isinstance(made, list):
            outputs = [self.one(part, f"{name}/{number}") for number, part in enumerate(made)]
            return self.node("IdentityN", name, [outputs], {}, controls)
        if made.part:
            return self.node("Identity", name, [self.one(made, f"{name}/{made.op}")], {}, controls)
        operation = operations.find(made.op)
        if operation is None or len(operation.inputs) < len(made.inputs):
            raise cannot_write(f"{made.op} with {len(made.inputs)} inputs")
        inputs: list[Any] = []
        for part, value in zip(operation.inputs, made.inputs):
            label = f"{name}/{part.name}"
            if part.is_list:
                inputs.append([self.one(item, label) for item in value])
            else:
                inputs.append(self.one(value, label))
        outputs = self.node(made.op, name, inputs, made.attributes, controls)
        return outputs if made.part is None else outputs[made.part : made.part + 1]

    def one(self, made: Literal | Output | WrittenNode, label: str) -> Output:
        """Write a described node under a new name, if it is not written yet: one output."""
        if isinstance(made, Output):
            return made
        if isinstance(made, WrittenNode) and made.part:
            whole = self.realise(
                WrittenNode(made.op, made.inputs, made.attributes), self.unique(label)
            )
            return whole[made.part]
        return self.realise(made, self.unique(label))[0]

    # -- numbers and sizes

    def integers(self, value: Size | tuple[Any, ...], dtype: DType | None = None) -> Any:
        """Write a number or (nested) tuple of numbers and symbolic sizes as a tensor."""
        numbers = np.array(value, object)
        flat = list(numbers.reshape(-1))
        plain = [int(n) for n in flat if type(n) is not Dim]
        if dtype is None:
            dtype = int64 if any(abs(n) > LARGEST for n in plain) else int32
        if len(plain) == len(flat):
            return Literal(numbers.astype(dtype.numpy_dtype))
        parts = [
            self.size(n, dtype) if type(n) is Dim else Literal(dtype.numpy_dtype.type(n))
            for n in flat
        ]
        if numbers.ndim == 0:
            return parts[0]
        packed = WrittenNode("Pack", (parts,), {"N": len(parts)})
        if numbers.ndim == 1:
            return packed
        return WrittenNode("Reshape", (packed, Literal(np.array(numbers.shape, np.int32))), {})

    def size(self, size: Size, dtype: DType = int32) -> Any:
        """Return a symbolic size as a scalar."""
        if type(size) is not Dim:
            return Literal(dtype.numpy_dtype.type(size))
        key = (size, dtype)
        found = self.sizes.get(key)
        if found is None:
            if dtype in (int32, int64):
                made = self._polynomial(size, dtype)
            else:
                made = WrittenNode("Cast", (self.size(size, int64),), {"DstT": dtype})
            found = self.sizes[key] = self.one(made, self.near("size"))
        return found

    def _polynomial(self, size: Dim, dtype: DType) -> Any:
        total: Any = None
        for atoms, factor in size.terms:
            product: Any = None
            for atom in atoms:
                value = self._atom(atom, dtype)
                product = value if product is None else WrittenNode("Mul", (product, value), {})
            if factor != 1:
                product = WrittenNode("Mul", (product, Literal(dtype.numpy_dtype.type(factor))), {})
            total = product if total is None else WrittenNode("AddV2", (total, product), {})
        if size.constant:
            constant = Literal(dtype.numpy_dtype.type(size.constant))
            total = WrittenNode("AddV2", (total, constant), {})
        return total

    def _atom(self, atom: Atom, dtype: DType) -> Any:
        if atom.arguments:
            return self._function(atom.kind, [self.size(a, dtype) for a in atom.arguments], dtype)
        source = atom.source
        if source is None or source not in self.values and source not in self.constants:
            size_source = None if source is None else self.value(source)
        else:
            size_source = self.value(source)
        if size_source is None:
            raise cannot_write(f"the size {atom!r}")
        if atom.kind == "size":
            vector: Any = WrittenNode("Shape", (size_source,), {"out_type": dtype})
        else:
            flat = WrittenNode("Reshape", (size_source, Literal(np.array([-1], np.int32))), {})
            vector = (
                flat
                if size_source.dtype is dtype
                else WrittenNode("Cast", (flat,), {"DstT": dtype})
            )
        bounds = [Literal(np.array([n], np.int32)) for n in (atom.place, atom.place + 1, 1)]
        return WrittenNode("StridedSlice", (vector, *bounds), {"shrink_axis_mask": 1})

    def _function(self, kind: str, arguments: list, dtype: DType) -> Any:
        if kind in _FUNCTIONS:
            return WrittenNode(_FUNCTIONS[kind], tuple(arguments), {})
        one, zero = (Literal(dtype.numpy_dtype.type(n)) for n in (1, 0))
        if kind == "broadcast":
            a, b = arguments
            return WrittenNode("SelectV2", (WrittenNode("Equal", (a, one), {}), b, a), {})
        if kind == "resolved":
            n, total, others, *_ = arguments
            count = WrittenNode("Maximum", (WrittenNode("Abs", (others,), {}), one), {})
            rest = WrittenNode("FloorDiv", (total, count), {})
            return WrittenNode(
                "SelectV2", (WrittenNode("GreaterEqual", (n, zero), {}), n, rest), {}
            )
        raise cannot_write(f"a size of the kind {kind!r}")

    def value(self, node: Node) -> Output:
        """Return the (first) output of a node."""
        raise NotImplementedError


# Functions of sizes that an operation of two operands computes.
_FUNCTIONS = {
    "floordiv": "FloorDiv",
    "mod": "FloorMod",
    "max": "Maximum",
    "min": "Minimum",
    "add": "AddV2",
    "mul": "Mul",
}

# Shapes of what is written for an operation beside it: its numbers, resources.
_KNOWN_SHAPES: dict[str, Any] = {
    "Const": lambda values: as_shape([part.size for part in values["value"].tensor_shape.dim]),
    "VarHandleOp": lambda values: as_shape([]),
}


def note_output_shapes(message: Any, shapes: list) -> None:
    """Have a node say the shapes of its outputs, which TensorBoard shows."""
    message.attr["_output_shapes"].CopyFrom(attributes.write(shapes, "list(shape)"))


def _defaults(operation: OpSignature) -> dict:
    return {
        name: value
        for name, (_, value) in operation.attributes.items()
        if value is not operations.REQUIRED
    }


def _infer_attributes(operation: OpSignature, inputs: list, given: dict) -> dict:
    """Return the attributes given, and those that follow from the dtypes and numbers of inputs."""
    values = dict(given)
    for part, value in zip(operation.inputs, inputs):
        outputs = value if part.is_list else [value]
        if part.listed:
            values[part.listed] = [x.dtype for x in outputs]
        elif outputs and part.dtype is None:
            values[part.kind] = outputs[0].dtype
        if part.number:
            values[part.number] = len(outputs)
    return {key: value for key, value in values.items() if key in operation.attributes}


def static_shape(dims: tuple[Any, ...] | None) -> TensorShape:
    """Convert dimensions to a shape, None where they are symbolic."""
    if dims is None:
        return TensorShape(None)
    return as_shape([size if type(size) is int else None for size in dims])

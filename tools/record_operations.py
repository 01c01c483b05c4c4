"""Record the signatures of TensorFlow's operations, those of `tf.raw_ops` and of GraphDefs.

Run it with TensorFlow's Python: ``python tools/record_operations.py`` writes
`talweg/raw/operations.txt`, one operation a line:

    ConcatV2 | values:N*T axis:Tidx | output:T | N:int T:type Tidx:type=int32

name, inputs, outputs, attributes.  A type is a dtype or the attribute that gives it; `N*T` are N
tensors of it, `@T` tensors of the dtypes in a list, `&T` a reference.  `!` behind the name: it has
an effect.  `reduction_indices>axis` is called `axis` in `tf.raw_ops`.  The operations are those of
`tf.raw_ops`, and what GraphDefs hold besides (`MORE`).
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "talweg" / "raw" / "operations.txt"
MORE = "_Arg _Retval BroadcastGradientArgs XlaCallModule"


def type_of(argument: object) -> str:
    """How an input's or output's type is written."""
    name = argument.type_attr or ""  # type: ignore[attr-defined]
    if argument.type_list_attr:  # type: ignore[attr-defined]
        return f"@{argument.type_list_attr}"  # type: ignore[attr-defined]
    if not name:
        name = dtype_name(argument.type)  # type: ignore[attr-defined]
    if argument.number_attr:  # type: ignore[attr-defined]
        name = f"{argument.number_attr}*{name}"  # type: ignore[attr-defined]
    return f"&{name}" if argument.is_ref else name  # type: ignore[attr-defined]


def dtype_name(number: int) -> str:
    """Return a dtype's name."""
    import tensorflow

    return tensorflow.dtypes.as_dtype(number).name


def default_of(attribute: object) -> str:
    """Return an attribute's default as JSON."""
    value = attribute.default_value  # type: ignore[attr-defined]
    kind = value.WhichOneof("value")
    if kind == "list":
        items = value.list
        found: object = next(
            (
                list(getattr(items, name))
                for name in ("i", "f", "b", "type")
                if getattr(items, name)
            ),
            [part.decode() for part in items.s],
        )
        if items.type:
            found = [dtype_name(number) for number in items.type]
    elif kind == "type":
        found = dtype_name(value.type)
    elif kind == "s":
        found = value.s.decode()
    elif kind == "shape":
        shape = value.shape
        found = None if shape.unknown_rank else [dim.size for dim in shape.dim]
    elif kind == "tensor":
        found = "tensor"
    elif kind == "func":
        found = value.func.name
    elif kind == "f":
        found = float(f"{value.f:.7g}")
    else:
        found = getattr(value, kind)
    return json.dumps(found, separators=(",", ":"))


def find_renames(definition: object, function: object) -> dict[str, str]:
    """Return the names of inputs and attributes that `tf.raw_ops` calls otherwise."""
    inputs, attributes = definition.input_arg, definition.attr  # type: ignore[attr-defined]
    inferred = {n for a in inputs for n in (a.type_attr, a.number_attr, a.type_list_attr)}
    given = [a for a in attributes if a.name not in inferred]
    names = [a.name for a in inputs]
    names += [a.name for a in given if not a.HasField("default_value")]
    names += [a.name for a in given if a.HasField("default_value")]
    if function is None:
        return {}
    public = [name for name in inspect.signature(function).parameters if name != "name"]  # type: ignore[arg-type]
    return {name: other for name, other in zip(names, public, strict=True) if name != other}


def line_of(definition: object, function: object) -> str:
    """Return an operation as a line."""
    other = {old: f"{old}>{new}" for old, new in find_renames(definition, function).items()}
    inputs = [
        f"{other.get(a.name, a.name)}:{type_of(a)}"
        for a in definition.input_arg  # type: ignore[attr-defined]
    ]
    outputs = [f"{a.name}:{type_of(a)}" for a in definition.output_arg]  # type: ignore[attr-defined]
    attributes = []
    for attribute in definition.attr:  # type: ignore[attr-defined]
        text = f"{other.get(attribute.name, attribute.name)}:{attribute.type}"
        if attribute.HasField("default_value"):
            text += f"={default_of(attribute)}"
        attributes.append(text)
    name = definition.name + ("!" if definition.is_stateful else "")  # type: ignore[attr-defined]
    parts = [name, " ".join(inputs), " ".join(outputs), " ".join(attributes)]
    return " | ".join(parts)


def main() -> None:
    """Write the table whole."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    import tensorflow.compiler.tf2xla.python.xla  # registers XlaCallModule
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as client

    operations = op_def_pb2.OpList()
    operations.ParseFromString(client.TF_GetBuffer(client.TF_GetAllOpList()))
    raw = {name: value for name, value in vars(tensorflow.raw_ops).items() if name[0] != "_"}
    wanted = {*raw, *MORE.split()}
    lines = sorted(line_of(o, raw.get(o.name)) for o in operations.op if o.name in wanted)
    temporary = TARGET.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n", "utf-8")
    os.replace(temporary, TARGET)
    print(len(lines), "operations")


if __name__ == "__main__":
    main()

"""Record the signatures of TensorFlow's operations that GraphDefs may hold.

Run it with TensorFlow's Python: ``python tools/record_operations.py`` writes
`talweg/interop/graph_def/operations.txt`, one operation a line:

    ConcatV2 | values:N*T axis:Tidx | output:T | N:int T:type Tidx:type=int32

name, inputs, outputs, attributes.  A type is a dtype or the attribute that gives it; `N*T` are N
tensors of it, `@T` tensors of the dtypes in a list, `&T` a reference.  `!` behind the name: it has
an effect.  The operations are those of `tf.raw_ops` here, and those of `MORE`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "talweg" / "interop" / "graph_def" / "operations.txt"
API = ROOT / "talweg" / "api"
MORE = """
_Arg _Retval Abort ArgMax AsString Assign AssignAdd AssignAddVariableOp AssignSub
AssignSubVariableOp AssignVariableOp BroadcastGradientArgs Case Const ControlTrigger
CountUpTo DestroyResourceOp EmptyTensorList Enter Exit
FakeParam FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel
If IsVariableInitialized LoopCond Merge Multinomial NextIteration NoOp
ParameterizedTruncatedNormal PartitionedCall
Placeholder PlaceholderV2 PlaceholderWithDefault Print PrintV2 PyFunc EagerPyFunc PyFuncStateless
RandomGamma RandomPoisson RandomPoissonV2 RandomShuffle RandomStandardNormal RandomUniform
RandomUniformInt ReadVariableOp ReduceJoin RefEnter RefExit RefIdentity RefMerge RefNextIteration
RefSwitch RegexReplace RegexFullMatch ResizeBicubic ResizeBilinear ResizeNearestNeighbor
ResourceApplyAdagrad
ResourceApplyAdagradV2 ResourceApplyAdadelta ResourceApplyAdam ResourceApplyAdaMax
ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyMomentum
ResourceApplyKerasMomentum ResourceApplyProximalGradientDescent ResourceApplyRMSProp
ResourceApplyCenteredRMSProp ResourceGather ResourceGatherNd ResourceScatterAdd ResourceScatterDiv
ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterSub ResourceScatterUpdate
ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate
ApplyAdagrad ApplyAdadelta ApplyAdam ApplyFtrl ApplyGradientDescent ApplyMomentum ApplyRMSProp
ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterSub ScatterUpdate
StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile StaticRegexReplace
StaticRegexFullMatch StopGradient StringJoin StringLength StringLower StringSplitV2 StringStrip
StringToHashBucketFast StringToNumber StringUpper Substr Switch SymbolicGradient TemporaryVariable
TensorArrayV3 TensorArrayReadV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayScatterV3
TensorArrayConcatV3 TensorArraySplitV3 TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3
TensorListConcatLists TensorListConcatV2 TensorListElementShape TensorListFromTensor
TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack
TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList
TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack TruncatedNormal VarHandleOp
VarIsInitializedOp Variable VariableShape VariableV2 While RemoteCall DataFormatDimMap
StackV2 StackPushV2 StackPopV2 StackCloseV2 StatelessMultinomial StatelessRandomGetKeyCounter
StatelessRandomNormalV2 StatelessRandomUniformV2 StatelessRandomUniformIntV2
StatelessTruncatedNormalV2 StatelessRandomGetAlg SaveV2 RestoreV2
MergeV2Checkpoints ShardedFilename MatrixLogarithm AdjustContrastv2 Timestamp SigmoidGrad
StatefulRandomBinomial ApplyAdaMax ScalarSummary HistogramSummary ImageSummary AudioSummary
AudioSummaryV2 TensorSummary TensorSummaryV2 MergeSummary
HashTable HashTableV2 MutableHashTable MutableHashTableV2 MutableHashTableOfTensors
MutableHashTableOfTensorsV2 MutableDenseHashTableV2 AnonymousHashTable AnonymousMutableHashTable
AnonymousMutableHashTableOfTensors LookupTableFind LookupTableFindV2 LookupTableImport
LookupTableImportV2 LookupTableExport LookupTableExportV2 LookupTableInsert LookupTableInsertV2
LookupTableRemoveV2 LookupTableSize LookupTableSizeV2 InitializeTable InitializeTableV2
InitializeTableFromTextFile InitializeTableFromTextFileV2 ReadFile StringToHashBucketStrong
RaggedTensorToTensor ResourceStridedSliceAssign StridedSliceAssign ResourceScatterNdMin
ResourceScatterNdMax RngReadAndSkip
ApplyAdagradDA ApplyAdagradV2 ApplyCenteredRMSProp ApplyFtrlV2 ApplyProximalAdagrad
ApplyProximalGradientDescent ResourceApplyAdagradDA ResourceApplyProximalAdagrad
SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyAdagradV2
SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum
SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp
ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA
ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl
ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent
ResourceSparseApplyRMSProp DisableCopyOnRead OptionalFromValue OptionalNone OptionalHasValue
OptionalGetValue
"""


def wanted() -> set[str]:
    """The names to record."""
    found = set(MORE.split())
    found |= set(re.findall(r"^(\w+)\(", (API / "raw" / "table.py").read_text("utf-8"), re.M))
    for path in API.rglob("*.py"):
        for decorator in re.findall(r"@export\((.*?)\)", path.read_text("utf-8"), re.S):
            found |= set(re.findall(r'"raw_ops\.(\w+)"', decorator))
    return found


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
    """A dtype's name."""
    import tensorflow

    return tensorflow.dtypes.as_dtype(number).name


def default_of(attribute: object) -> str:
    """An attribute's default as JSON."""
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
    else:
        found = getattr(value, kind)
    return json.dumps(found, separators=(",", ":"))


def line_of(definition: object) -> str:
    """An operation as a line."""
    inputs = [f"{a.name}:{type_of(a)}" for a in definition.input_arg]  # type: ignore[attr-defined]
    outputs = [f"{a.name}:{type_of(a)}" for a in definition.output_arg]  # type: ignore[attr-defined]
    attributes = []
    for attribute in definition.attr:  # type: ignore[attr-defined]
        text = f"{attribute.name}:{attribute.type}"
        if attribute.HasField("default_value"):
            text += f"={default_of(attribute)}"
        attributes.append(text)
    name = definition.name + ("!" if definition.is_stateful else "")  # type: ignore[attr-defined]
    parts = [name, " ".join(inputs), " ".join(outputs), " ".join(attributes)]
    return " | ".join(parts)


def main() -> None:
    """Write the table whole."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as client

    operations = op_def_pb2.OpList()
    operations.ParseFromString(client.TF_GetBuffer(client.TF_GetAllOpList()))
    names = wanted()
    lines = sorted(line_of(found) for found in operations.op if found.name in names)
    temporary = TARGET.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n", "utf-8")
    os.replace(temporary, TARGET)
    print(
        len(lines),
        "operations;",
        sorted(names - {line.split(" ")[0].rstrip("!") for line in lines}),
    )


if __name__ == "__main__":
    main()

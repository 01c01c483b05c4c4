"""Private names of TensorFlow that hold nothing public, as far as libraries ask for them.

A text is the public name of the object, or where it is: "module:name".
"""

from __future__ import annotations

from typing import Any

from talweg.private.layer_names import layer_modules

FRAMEWORK = "talweg.private.framework"
DATA = "talweg.private.datasets"
CONTEXT = "talweg.private.context"
FIRST = "talweg.private.first_generation"
THRESHOLDS = "talweg.compat_v1.metrics.thresholds"
EVALUATION = "talweg.private.evaluation"


def at(place: str, *names: str) -> dict[str, str]:
    """Return names that stand in one module."""
    return {name: f"{place}:{name}" for name in names}


# Private module -> the module of talweg that has its names.
MODULES = {
    "python.client.device_lib": "talweg.private.device_lib",
    "python.eager.context": CONTEXT,
    "python.eager.monitoring": "talweg.private.internal.monitoring",
    "python.ops.list_ops": "talweg.private.list_ops",
    "python.ops.linalg.sparse.sparse": "talweg.private.sparse_matrices",
    "python.util.deprecation": "talweg.private.deprecation",
    "python.util.object_identity": "talweg.private.object_identity",
    "python.util.tf_decorator": "talweg.private.decorators",
    "python.util.tf_export": "talweg.private.exporting",
    "python.util.tf_inspect": "talweg.private.inspection",
    "compiler.xla.xla_data_pb2": "talweg.private.xla",
    "python.compiler.xla.experimental.xla_sharding": "talweg.private.xla",
    "tools.docs.doc_controls": "talweg.private.documentation",
    "python.framework.test_util": "talweg.private.testing",
    "python.platform.tf_logging": "talweg.private.logging_levels",
}
AUTOGRAPH = (  # diastatic-malt is TensorFlow's AutoGraph as a package of its own
    "converters.break_statements",
    "converters.continue_statements",
    "converters.return_statements",
    "core.converter",
    "pyct.anno",
    "pyct.common_transformers.anf",
    "pyct.inspect_utils",
    "pyct.loader",
    "pyct.naming",
    "pyct.parser",
    "pyct.qual_names",
    "pyct.static_analysis.activity",
    "pyct.templates",
    "pyct.transformer",
)
MODULES.update({f"python.autograph.{name}": f"malt.{name}" for name in AUTOGRAPH})
# Private module -> its names -> what they hold.
CONTENTS: dict[str, dict[str, Any]] = {
    **layer_modules(),
    "python.framework.ops": {
        "convert_to_tensor": "convert_to_tensor",
        "_gradient_registry": "talweg.private.gradient_registry:GRADIENT_REGISTRY",
        "device": "compat.v1.device",
        "colocate_with": "compat.v1.colocate_with",
        **at(
            FRAMEWORK,
            "NullContextmanager",
            "convert_to_tensor_or_composite",
            "name_from_scope_name",
            "name_scope",
            "uid",
            "_get_graph_from_inputs",
        ),
    },
    "python.framework.c_api_util": {"ApiDefMap": object},  # for TensorFlow.js alone
    "python.grappler.tf_optimizer": at("talweg.private.definition_graph", "OptimizeGraph"),
    "python.framework.function_def_to_graph": at(
        "talweg.private.definition_graph", "function_def_to_graph"
    ),
    "python.ops.math_ops": {"is_nan": "math.is_nan"},
    "python.ops.variables": at("talweg.compat_v1.partitions", "PartitionedVariable"),
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": at(
        "talweg.api.sparse.products",
        "sparse_tensor_to_csr_sparse_matrix",
        "csr_sparse_matrix_to_sparse_tensor",
        "sparse_matrix_sparse_mat_mul",
    ),
    "python.framework.config": at(
        "talweg.api.config",
        "is_op_determinism_enabled",
        "enable_op_determinism",
        "disable_op_determinism",
    ),
    "python.framework.type_spec_registry": {
        **at("talweg.api.names.spec", "get_name", "lookup", "register"),
        "_NAME_TO_TYPE_SPEC": "talweg.eager.extension:REGISTERED",
        "_TYPE_SPEC_TO_NAME": "talweg.api.names.spec:BY_CLASS",
    },
    "python.framework.convert_to_constants": at(
        "talweg.interop.graph_def.freezing", "convert_variables_to_constants_v2"
    ),
    "python.framework.smart_cond": {
        "smart_cond": "__internal__.smart_cond.smart_cond",
        "smart_constant_value": "talweg.private.internal.kinds:smart_constant_value",
    },
    "python.framework.tensor_shape": at(FRAMEWORK, "as_shape", "unknown_shape"),
    "python.framework.tensor_util": at(
        FRAMEWORK, "constant_value_as_shape", "try_evaluate_constant"
    ),
    "python.framework.composite_tensor": at(FRAMEWORK, "convert_variables_to_tensors"),
    "python.framework.tensor_spec": {
        "TensorSpec": "TensorSpec",
        "DenseSpec": "talweg.core.spec:TensorSpec",
        "BoundedTensorSpec": "talweg.core.bounded_spec:BoundedTensorSpec",
    },
    "python.framework.type_spec": {"BatchableTypeSpec": "TypeSpec"},
    "python.data.experimental.ops.distribute": at(
        "talweg.pipeline.batch_size", "compute_batch_size"
    ),
    "python.data.ops.iterator_ops": at("talweg.pipeline.iterators", "OwnedIterator"),
    "python.data.util.structure": at("talweg.core.spec", "NoneTensorSpec"),
    "python.data.util.nest": {
        name: f"nest.{name}" for name in ("flatten", "map_structure", "pack_sequence_as")
    },
    "python.data.ops.from_generator_op": at(DATA, "_GeneratorDataset"),
    "python.data.ops.from_sparse_tensor_slices_op": at(DATA, "_SparseTensorSliceDataset"),
    "python.data.ops.from_tensor_slices_op": at(DATA, "_TensorSliceDataset"),
    "python.data.ops.from_tensors_op": at(DATA, "_TensorDataset"),
    "python.data.ops.range_op": at(DATA, "_RangeDataset"),
    "python.distribute.distribute_utils": at(FRAMEWORK, "cache_variable_reads"),
    "python.distribute.input_ops": at(DATA, "auto_shard_dataset"),
    "python.lib.io.tf_record": {
        "tf_record_iterator": "compat.v1.io.tf_record_iterator",
        "TFRecordWriter": "io.TFRecordWriter",
        "TFRecordOptions": "io.TFRecordOptions",
    },
    "python.ops.control_flow_ops": {
        "get_enclosing_xla_context": lambda: None,
        "with_dependencies": f"{FRAMEWORK}:with_dependencies",
    },
    "python.ops.control_flow_util": {
        "GraphOrParentsInXlaContext": lambda graph: False,
        "ENABLE_CONTROL_FLOW_V2": True,
    },
    "python.ops.ragged.ragged_map_ops": {"map_fn": "map_fn"},
    "python.ops.ragged.ragged_util": at(FRAMEWORK, "assert_splits_match"),
    "python.ops.resource_variable_ops": {
        "BaseResourceVariable": "Variable",
        "ResourceVariable": "Variable",
        "VariableSpec": "talweg.eager.variable_spec:VariableSpec",
    },
    "python.ops.linalg.linear_operator_addition": at(FRAMEWORK, "add_operators"),
    "python.ops.linalg.linear_operator": at(FRAMEWORK, "make_composite_tensor"),
    "python.ops.parallel_for.control_flow_ops": {
        "vectorized_map": "vectorized_map",
        "pfor": f"{FRAMEWORK}:pfor",
    },
    "python.ops.control_flow_case": {"case": "case", "_case_helper": f"{FRAMEWORK}:case_helper"},
    "python.util.variable_utils": at(FRAMEWORK, "convert_variables_to_tensors"),
    "python.ops.variable_scope": {
        "_get_default_variable_store": "talweg.compat_v1.variable_store:current_store",
        "with_variable_store": "talweg.compat_v1.variable_store:with_variable_store",
    },
    "python.ops.random_ops": at(FRAMEWORK, "parameterized_truncated_normal"),
    "python.pywrap_tfe": {"TF_ListPluggablePhysicalDevices": list},
    "python.saved_model.save": at("talweg.interop.saved_model.saving", "save_and_return_nodes"),
    "python.saved_model.nested_structure_coder": {
        "encode_structure": "talweg.interop.saved_model.structured_values:encode_value",
        "decode_proto": "talweg.interop.saved_model.structured_values:read",
    },
    "python.saved_model.model_utils.mode_keys": at(FRAMEWORK, "KerasModeKeys"),
    "python.trackable.data_structures": at(
        "talweg.interop.checkpoint.data_structures",
        "ListWrapper",
        "_DictWrapper",
        "_TupleWrapper",
        "NoDependency",
        "TrackableDataStructure",
        "sticky_attribute_assignment",
        "wrap_or_unwrap",
    ),
    "python.util.compat": {
        name: f"compat.{name}"
        for name in ("as_bytes", "as_text", "as_str", "as_str_any", "integral_types")
    },
    "python.util.all_util": at(FIRST, "make_all", "remove_undocumented", "reveal_undocumented"),
    "python.training.evaluation": {
        "_StopAfterNEvalsHook": f"{EVALUATION}:stop_after_n_evals_hook",
        "_evaluate_once": f"{EVALUATION}:evaluate_once",
        "_get_or_create_eval_step": f"{EVALUATION}:get_or_create_eval_step",
    },
    "python.ops.standard_ops": {
        **{
            name: name
            for name in (
                *("clip_by_value", "constant", "einsum", "ensure_shape", "expand_dims", "identity"),
                *("ones_like", "realdiv", "reduce_logsumexp", "reduce_max", "reduce_mean"),
                *("reduce_min", "reduce_prod", "reduce_sum", "squeeze", "stop_gradient"),
                *("transpose", "truncatediv", "truncatemod", "zeros_like"),
            )
        },
        "bincount": "math.bincount",
        "mod": "math.mod",
    },
    "python.ops.lookup_ops": {
        **at("talweg.api.lookup.tables", "LookupInterface"),
        **at(
            "talweg.private.lookup_tables",
            "index_table_from_file",
            "index_table_from_tensor",
            "index_to_string_table_from_file",
            "index_to_string_table_from_tensor",
        ),
    },
    "python.trackable.resource": {
        "RestoredResource": "talweg.interop.graph_def.rules_tables:ImportedTable"
    },
    "python.ops.metrics_impl": {
        "_aggregate_variable": f"{FIRST}:aggregate_variable",
        "_confusion_matrix_at_thresholds": f"{THRESHOLDS}:confusion_matrix_at_thresholds",
        "_streaming_sparse_average_precision_at_top_k": (
            "talweg.compat_v1.metrics.top_k:average_precision_at_top_k"
        ),
        "_remove_squeezable_dimensions": f"{FIRST}:remove_squeezable_dimensions",
        "_safe_scalar_div": f"{FIRST}:safe_scalar_div",
        "metric_variable": f"{FIRST}:metric_variable",
    },
    "python.eager.backprop": at("talweg.private.gradient_registry", "record_gradient"),
    "python.eager.execute": at("talweg.private.gradient_registry", "record_gradient"),
    "python.ops.confusion_matrix": {
        "remove_squeezable_dimensions": f"{FIRST}:squeeze_labels",
    },
    "python.training.checkpoint_management": {
        **{name: f"train.{name}" for name in ("latest_checkpoint", "CheckpointManager")},
        "checkpoint_exists": "compat.v1.train.checkpoint_exists",
    },
    "python.client.timeline": at("talweg.private.timeline", "Timeline"),
    "python.layers.utils": {
        "smart_cond": "__internal__.smart_cond.smart_cond",
        "constant_value": "talweg.private.internal.kinds:smart_constant_value",
    },
    "python.keras.engine.input_spec": at(FIRST, "InputSpec"),
    "python.keras.backend": {"get_graph": "compat.v1.get_default_graph"},
    "python.trackable.base": at("talweg.core.tracking", "no_automatic_dependency_tracking_scope"),
    "python.ops.distributions.util": at(FRAMEWORK, "gen_new_seed"),
    "python.util.dispatch": at("talweg.private.internal.dispatching", "dispatch_for_types"),
    "python.util.nest": {
        **at(
            "talweg.private.internal.nests",
            "assert_shallow_structure",
            "flatten_with_tuple_paths",
            "flatten_with_tuple_paths_up_to",
            "flatten_with_joined_string_paths",
            "map_structure_with_paths",
            "map_structure_with_tuple_paths",
            "map_structure_with_tuple_paths_up_to",
            "is_namedtuple",
            "is_nested_or_composite",
            "flatten_dict_items",
        ),
        "_is_namedtuple": "talweg.private.internal.nests:is_namedtuple",
        "_yield_value": "talweg.private.internal.nests:yield_value",
        "_yield_sorted_items": "talweg.private.internal.nests:yield_sorted_items",
    },
    "python.util.tf_contextlib": {"contextmanager": "contextlib:contextmanager"},
    "compiler.tf2xla.python.xla": {
        "dynamic_update_slice": "talweg.api.array.writing:xla_dynamic_update_slice",
        **at("talweg.private.xla", "call_module", "call_module_maximum_supported_version"),
    },
}

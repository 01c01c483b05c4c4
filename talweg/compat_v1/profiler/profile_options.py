"""tf.compat.v1.profiler.ProfileOptionBuilder: the counters and the view of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talweg.api.export import export

_START: dict[str, Any] = {
    "max_depth": 100,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


def _copy_options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, list) else v for key, v in options.items()}


@export("compat.v1.profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Builds the options of a profile; each method gives the builder.

    >>> import talweg.compat.v1 as tf
    >>> tf.profiler.ProfileOptionBuilder().with_max_depth(3).build()["max_depth"]
    3
    """

    def __init__(self, options: dict[str, Any] | None = None):
        self._options = _copy_options(options if options is not None else _START)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return the options that count the parameters of trainable variables."""
        builder = ProfileOptionBuilder().with_max_depth(10000)
        builder.with_accounted_types(["_trainable_variables"]).account_displayed_op_only(True)
        return builder.select(["params"]).build()

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return the options that count float operations."""
        builder = ProfileOptionBuilder().with_max_depth(10000).with_min_float_operations(1)
        builder.account_displayed_op_only(True).select(["float_ops"])
        return builder.order_by("float_ops").build()

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Return the options that show times; memory of single operations is not known."""
        builder = ProfileOptionBuilder().with_max_depth(10000)
        builder.with_min_memory(min_bytes, min_peak_bytes, min_residual_bytes, min_output_bytes)
        builder.with_min_execution_time(min_micros, min_accelerator_micros, min_cpu_micros)
        builder.account_displayed_op_only(True).select(["micros", "bytes"])
        return builder.order_by("micros").build()

    def build(self) -> dict[str, Any]:
        """Return the options."""
        return _copy_options(self._options)

    def _with(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(options)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Limit the depth of the tree."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Show nodes that take at least so many bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Show nodes that take at least so much time."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Show nodes with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Show types with so many operations."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Show nodes with at least so many float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Count operations whose type fits one of these."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Show nodes whose names fit, and do not; do not go below those that are trimmed."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{key: list(value) for key, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Make totals those of the shown nodes only."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Print the report."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the report into a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Return a timeline, which profiles do not write: `tf.profiler.experimental` does."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Return a file for pprof, which profiles do not write."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Return the order: "name", "float_ops", "params", "micros" or "occurrence"."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Select the columns to print: "float_ops", "params", "micros"."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Select the run whose times are shown; -1 is the last."""
        return self._with(step=step)

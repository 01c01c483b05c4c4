"""tf.data.Dataset, its iterators, specs and constants."""

from __future__ import annotations

from talweg.api.export import export, export_value
from talweg.pipeline.dataset import Dataset, DatasetSpec
from talweg.pipeline.iterators import Iterator, IteratorSpec, NumpyIterator, Optional, OptionalSpec
from talweg.pipeline.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    Options,
    ServiceOptions,
    ThreadingOptions,
)
from talweg.pipeline.parallel import AUTOTUNE
from talweg.pipeline.stage import INFINITE, UNKNOWN

export("data.Dataset")(Dataset)
export("data.DatasetSpec")(DatasetSpec)
export("data.Iterator")(Iterator)
export("data.IteratorSpec")(IteratorSpec)
export("data.NumpyIterator")(NumpyIterator)
export("data.experimental.Optional", "experimental.Optional")(Optional)
export("OptionalSpec")(OptionalSpec)
export("data.Options")(Options)
export("data.ThreadingOptions", "data.experimental.ThreadingOptions")(ThreadingOptions)
export("data.experimental.AutoShardPolicy")(AutoShardPolicy)
export("data.experimental.AutotuneAlgorithm")(AutotuneAlgorithm)
export("data.experimental.AutotuneOptions")(AutotuneOptions)
export("data.experimental.DistributeOptions")(DistributeOptions)
export("data.experimental.ExternalStatePolicy")(ExternalStatePolicy)
export("data.experimental.OptimizationOptions")(OptimizationOptions)
export("data.experimental.ServiceOptions")(ServiceOptions)
export_value(AUTOTUNE, "data.AUTOTUNE", "data.experimental.AUTOTUNE")
export_value(INFINITE, "data.INFINITE_CARDINALITY", "data.experimental.INFINITE_CARDINALITY")
export_value(UNKNOWN, "data.UNKNOWN_CARDINALITY", "data.experimental.UNKNOWN_CARDINALITY")

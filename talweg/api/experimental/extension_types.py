"""tf.experimental.ExtensionType and what belongs to it."""

from __future__ import annotations

from talweg.api.export import export
from talweg.eager.extension import ExtensionType
from talweg.eager.extension_spec import ExtensionTypeSpec
from talweg.pipeline.encoders import BatchableExtensionType, ExtensionTypeBatchEncoder

export("experimental.ExtensionType")(ExtensionType)
export("experimental.ExtensionTypeSpec")(ExtensionTypeSpec)
export("experimental.BatchableExtensionType")(BatchableExtensionType)
export("experimental.ExtensionTypeBatchEncoder")(ExtensionTypeBatchEncoder)

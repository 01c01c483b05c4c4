"""tf.experimental.ExtensionType: its methods, its spec, batches of it."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export
from talweg.core.errors import type_error
from talweg.eager.extension import ExtensionType
from talweg.eager.extension_spec import ExtensionTypeSpec
from talweg.pipeline.encoders import BatchableExtensionType, ExtensionTypeBatchEncoder

export("experimental.ExtensionType")(ExtensionType)
export("experimental.ExtensionTypeSpec")(ExtensionTypeSpec)
export("experimental.BatchableExtensionType")(BatchableExtensionType)
export("experimental.ExtensionTypeBatchEncoder")(ExtensionTypeBatchEncoder)


@export("experimental.extension_type.as_dict")
def as_dict(value: ExtensionType) -> dict[str, Any]:
    """Return the fields of an object of an extension type, by name; those inside of it stay
    objects.

    TypeError for other things.

    >>> import talweg as tf
    >>> class Span(tf.experimental.ExtensionType):
    ...     start: int
    ...     end: int
    >>> tf.experimental.extension_type.as_dict(Span(1, 4))
    {'start': 1, 'end': 4}
    """
    if not isinstance(value, ExtensionType):
        raise type_error("TW104", f"as_dict: {value!r}", "an object of an extension type")
    return {name: getattr(value, name) for name in type(value).extension_fields}

"""With how many digits products of float32 numbers may be computed, where hardware has a choice."""

from __future__ import annotations


class Precision:
    """The precision settings of `tf.config`; processors always compute with all digits."""

    tensor_float_32 = True


precision = Precision()

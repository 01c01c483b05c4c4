"""The fingerprint of a saved model: numbers that tell one from another.

They are talweg's own hashes; TensorFlow reads them, and makes other ones of the same model.  The
file is a FingerprintDef of TensorFlow's.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from talweg.api.export import export
from talweg.core.errors import DataLossError
from talweg.formats import wire
from talweg.formats.files import read_file
from talweg.interop.saved_model.constants import FINGERPRINT_FILENAME

FIELDS = (  # of a FingerprintDef, from number 1 on
    "saved_model_checksum",
    "graph_def_program_hash",
    "signature_def_hash",
    "saved_object_graph_hash",
    "checkpoint_hash",
)
VERSION_DEF, PRODUCER = 6, 1  # the field after those, a message, and the field of that
VERSION = 4


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def fingerprint_of(model: Any, data: bytes) -> bytes:
    """Compute the fingerprint of a model whose bytes are `data`, as bytes."""
    meta_graph = model.meta_graphs[0]
    signatures = b"".join(
        key.encode() + value.SerializeToString(deterministic=True)
        for key, value in sorted(meta_graph.signature_def.items())
    )
    parts = (
        data,
        meta_graph.graph_def.SerializeToString(deterministic=True),
        signatures,
        meta_graph.object_graph_def.SerializeToString(deterministic=True),
    )
    numbers = [wire.field(place, _number(part)) for place, part in enumerate(parts, 1)]
    return b"".join([*numbers, wire.field(VERSION_DEF, wire.field(PRODUCER, VERSION))])


@export("saved_model.experimental.Fingerprint")
class Fingerprint:
    """The numbers of a saved model; two are equal if all numbers are but that of the values.

    >>> import talweg as tf
    >>> a = tf.saved_model.experimental.Fingerprint(1, 2, 3, 4, 5)
    >>> a == tf.saved_model.experimental.Fingerprint(1, 2, 3, 4, 5), a.singleprint()
    (True, '2/3/4/5')
    """

    def __init__(
        self,
        saved_model_checksum: int | None = None,
        graph_def_program_hash: int | None = None,
        signature_def_hash: int | None = None,
        saved_object_graph_hash: int | None = None,
        checkpoint_hash: int | None = None,
        version: int | None = None,
    ):
        self.saved_model_checksum = saved_model_checksum
        self.graph_def_program_hash = graph_def_program_hash
        self.signature_def_hash = signature_def_hash
        self.saved_object_graph_hash = saved_object_graph_hash
        self.checkpoint_hash = checkpoint_hash
        self.version = version

    def _numbers(self) -> tuple:
        return tuple([getattr(self, name) for name in FIELDS])

    def singleprint(self) -> str:
        """Return the numbers but the first in one text."""
        return "/".join(str(number) for number in self._numbers()[1:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def __str__(self) -> str:
        lines = [f"  {name}: {value}" for name, value in zip(FIELDS, self._numbers())]
        return "\n".join(["SavedModel Fingerprint", *lines])

    def __repr__(self) -> str:
        parts = [f"{name}={value}" for name, value in zip(FIELDS, self._numbers())]
        return f"Fingerprint({', '.join(parts)}, version={self.version})"


@export("saved_model.experimental.read_fingerprint")
def read_fingerprint(export_dir: Any) -> Fingerprint:
    """Return the fingerprint of a saved model; FileNotFoundError if it has none.

    >>> import tempfile
    >>> import talweg as tf
    >>> folder = tempfile.mkdtemp() + "/empty"
    >>> tf.saved_model.save(tf.Module(), folder)
    >>> tf.saved_model.experimental.read_fingerprint(folder).version
    4
    """
    path = os.path.join(os.fspath(export_dir), FINGERPRINT_FILENAME)
    if not os.path.exists(path):
        raise FileNotFoundError(f"SavedModel Fingerprint Error: {path} does not exist.  [TW509]")
    data = read_file(path)
    numbers, version = dict.fromkeys(FIELDS, 0), 0
    try:
        for number, kind, value in wire.read_raw_fields(data):
            if kind == wire.VARINT and 1 <= number <= len(FIELDS):
                numbers[FIELDS[number - 1]] = value
            elif kind == wire.LENGTH and number == VERSION_DEF:
                version = dict(wire.read_fields(value)).get(PRODUCER, 0)
    except DataLossError:
        raise RuntimeError(f"SavedModel Fingerprint Error: {path} is damaged.  [TW509]") from None
    return Fingerprint(**numbers, version=version)

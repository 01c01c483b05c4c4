"""Finding checkpoints and looking into them: the file `checkpoint`, readers, lists of variables."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export
from talweg.core.dtypes import DType
from talweg.core.errors import invalid, value_error
from talweg.formats.bundle.reader import Bundle, index_file, not_found
from talweg.formats.files import write_file
from talweg.formats.wire import data_loss_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talweg.core.annotations import PathLike
    from talweg.core.shapes import TensorShape

STATE_FILE = "checkpoint"
_LINE = re.compile(r'\s*(\w+)\s*:\s*("[^"\\\n]*(?:\\.[^"\\\n]*)*"|[-+.\w]+)\s*')
_ESCAPE = re.compile(r'\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|[nrt"\'\\])')
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


@dataclass
class CheckpointState:
    """The content of the file `checkpoint` of a folder: the newest checkpoint and all that are
    kept.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list = field(default_factory=list)
    all_model_checkpoint_timestamps: list = field(default_factory=list)
    last_preserved_timestamp: float = 0.0

    def __str__(self) -> str:
        lines = [f"model_checkpoint_path: {_quote(self.model_checkpoint_path)}"]
        lines += [
            f"all_model_checkpoint_paths: {_quote(p)}" for p in self.all_model_checkpoint_paths
        ]
        lines += [
            f"all_model_checkpoint_timestamps: {t!r}" for t in self.all_model_checkpoint_timestamps
        ]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp!r}")
        return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    def escape_byte(byte: int) -> str:
        letter = chr(byte)
        if letter in "\\\"'":
            return "\\" + letter
        return letter if 32 <= byte < 127 else f"\\{byte:03o}"

    return '"' + "".join(map(escape_byte, os.fsencode(text))) + '"'


def _unquote(text: str) -> str:
    parts = bytearray()
    place = 0
    for match in _ESCAPE.finditer(text):
        parts += text[place : match.start()].encode("utf-8", "surrogateescape")
        code = match.group(1)
        if code in _PLAIN:
            parts += _PLAIN[code].encode()
        else:
            parts.append((int(code[1:], 16) if code[0] == "x" else int(code, 8)) & 0xFF)
        place = match.end()
    parts += text[place:].encode("utf-8", "surrogateescape")
    return os.fsdecode(bytes(parts))


def parse_state(text: str) -> CheckpointState:
    """Parse the text of a CheckpointState; DataLossError for anything else."""
    state = CheckpointState()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise data_loss_error(f"a line of the file `checkpoint` is {line[:80]!r}")
        name, value = match.groups()
        if name in ("model_checkpoint_path", "all_model_checkpoint_paths"):
            if not value.startswith('"'):
                raise data_loss_error(f"{name} in the file `checkpoint` is no text: {value[:80]}")
            path = _unquote(value[1:-1])
            if name == "model_checkpoint_path":
                state.model_checkpoint_path = path
            else:
                state.all_model_checkpoint_paths.append(path)
        elif name in ("all_model_checkpoint_timestamps", "last_preserved_timestamp"):
            number = _number(name, value)
            if name == "last_preserved_timestamp":
                state.last_preserved_timestamp = number
            else:
                state.all_model_checkpoint_timestamps.append(number)
        else:
            raise data_loss_error(f"the file `checkpoint` has a field {name!r}")
    return state


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise data_loss_error(
            f"{name} in the file `checkpoint` is no number: {value[:80]}"
        ) from None


@export("compat.v1.train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Any = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Make the content of the file `checkpoint` of `save_dir`.

    Paths are made relative to `save_dir` where that is relative itself.  ValueError if there are
    not as many timestamps as paths.

    >>> import talweg.compat.v1 as tf
    >>> print(tf.train.generate_checkpoint_state_proto("runs", "runs/model-3"), end="")
    model_checkpoint_path: "model-3"
    all_model_checkpoint_paths: "model-3"
    """
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise value_error(
            "TW507",
            "Checkpoint timestamps, if provided, must match checkpoint paths (given "
            f"{len(times)} timestamps and {len(paths)} paths)",
        )
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
        times += [time.time()] if times else []
    if not os.path.isabs(save_dir):
        model_checkpoint_path = _relative(model_checkpoint_path, save_dir)
        paths = [_relative(path, save_dir) for path in paths]
    return CheckpointState(model_checkpoint_path, paths, times, last_preserved_timestamp or 0.0)


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder or ".")


@export("compat.v1.train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Any = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file `checkpoint` (or `latest_filename`) of `save_dir`, as a whole.

    RuntimeError if that file would be the checkpoint itself.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.train.update_checkpoint_state(folder, f"{folder}/model-3")
    ...     tf.train.get_checkpoint_state(folder).model_checkpoint_path == f"{folder}/model-3"
    True
    """
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    write_state(os.path.join(save_dir, latest_filename or STATE_FILE), state)


def write_state(path: str, state: CheckpointState) -> None:
    """Write a state to a file, as a whole; RuntimeError if that is the checkpoint itself."""
    if path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{path}' conflicts with path used for checkpoint state.  Please use a "
            "different save path.  [TW507]"
        )
    write_file(path, [str(state).encode("ascii")])


@export("train.get_checkpoint_state", "compat.v1.train.get_checkpoint_state")
def get_checkpoint_state(
    checkpoint_dir: Any, latest_filename: str | None = None
) -> CheckpointState | None:
    """Read the file `checkpoint` of a folder, with whole paths; None if there is none.

    >>> import talweg as tf
    >>> tf.train.get_checkpoint_state("a folder that is not there") is None
    True
    """
    folder = os.fspath(checkpoint_dir)
    path = os.path.join(folder, latest_filename or STATE_FILE)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            state = parse_state(file.read())
    except OSError:
        return None
    if not state.model_checkpoint_path:
        raise value_error("TW507", f"Invalid checkpoint state loaded from {folder}")

    def whole(path: str) -> str:
        return path if os.path.isabs(path) else os.path.join(folder, path)

    state.model_checkpoint_path = whole(state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [whole(p) for p in state.all_model_checkpoint_paths]
    return state


@export("train.latest_checkpoint", "compat.v1.train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Return the path of the newest checkpoint of a folder; None if there is none.

    >>> import talweg as tf
    >>> tf.train.latest_checkpoint("a folder that is not there") is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


@export("compat.v1.train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether there is a checkpoint of this path.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.checkpoint_exists("a path that is not there")
    False
    """
    prefix = os.fspath(checkpoint_prefix)
    return os.path.isfile(index_file(prefix)) or os.path.isfile(prefix)


@export("compat.v1.train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[Any]) -> list[float]:
    """Return the times at which checkpoints were written, in seconds; absent ones are left out.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.get_checkpoint_mtimes(["a path that is not there"])
    []
    """
    found = []
    for prefix in checkpoint_prefixes:
        for path in (index_file(prefix), prefix):
            if os.path.isfile(path):
                found.append(os.path.getmtime(path))
                break
    return found


@export("compat.v1.train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: Any, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Delete the files of a checkpoint; those that are not there are no error.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.remove_checkpoint("a path that is not there")
    """
    prefix = os.fspath(checkpoint_prefix)
    own = re.compile(re.escape(prefix) + r"\.data-\d{5}-of-\d{5}")
    data = [path for path in glob.glob(glob.escape(prefix) + ".data-*") if own.fullmatch(path)]
    for path in (index_file(prefix), *data, f"{prefix}.{meta_graph_suffix}"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


# -- looking inside


@export("compat.v1.train.NewCheckpointReader")
class CheckpointReader:
    """Reads the tensors of the checkpoint at a path (`tf.train.NewCheckpointReader`).

    NotFoundError if there is none, DataLossError if it is damaged.
    """

    def __init__(self, filepattern: str):
        self._bundle = Bundle(os.fspath(filepattern))

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a tensor of the name."""
        return tensor_str in self._bundle.entries

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the value of a tensor, an array or NumPy scalar; NotFoundError if there is
        none."""
        array = self._bundle.read(tensor_str)
        return array if array.ndim else array[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each tensor."""
        return {name: list(entry.dims) for name, entry in self._bundle.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the dtype of each tensor."""
        return {name: entry.dtype for name, entry in self._bundle.entries.items()}

    def debug_string(self) -> bytes:
        """Return a line for each tensor."""
        return "".join(
            [
                f"{name} ({entry.dtype.name}) {list(entry.dims)}\n"
                for name, entry in self._bundle.entries.items()
            ]
        ).encode()


@export("train.load_checkpoint", "compat.v1.train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """Return a reader of a checkpoint, or of the newest one of a folder.

    ValueError if the folder has none, NotFoundError if there is no such checkpoint.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
    ...     v = tf.Variable([1.0, 2.0], name="v")
    ...     with tf.Session() as session:
    ...         session.run(v.initializer)
    ...         path = tf.train.Saver().save(session, folder + "/model")
    ...     tf.train.load_checkpoint(path).get_tensor("v")
    array([1., 2.], dtype=float32)
    """
    return CheckpointReader(checkpoint_path(ckpt_dir_or_file))


def checkpoint_path(folder_or_path: Any) -> str:
    """Return the path of a checkpoint, or of the newest in a folder;
    ValueError if that has none.
    """
    path = os.fspath(folder_or_path)
    if not os.path.isdir(path):
        return path
    found = latest_checkpoint(path)
    if found is None:
        raise value_error(
            "TW507", f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return found


@export("train.load_variable", "compat.v1.train.load_variable")
def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """Return the value of one variable in a checkpoint; NotFoundError if it is not there.

    >>> import talweg as tf
    >>> tf.train.load_variable("a path that is not there", "v")
    Traceback (most recent call last):
        ...
    talweg.core.errors.NotFoundError: ...
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables", "compat.v1.train.list_variables")
def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """Return names and shapes of all variables in a checkpoint, sorted by name.

    >>> import talweg as tf
    >>> tf.train.list_variables("a path that is not there")
    Traceback (most recent call last):
        ...
    talweg.core.errors.NotFoundError: ...
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


@export("train.checkpoints_iterator", "compat.v1.train.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[..., Any] | None = None,
) -> Iterator[str]:
    """Return the paths of new checkpoints of a folder as they appear; it waits for the next one.

    After `timeout` seconds without one it ends, or calls `timeout_fn` and ends if that says True.

    >>> import talweg as tf
    >>> list(tf.train.checkpoints_iterator("a folder that is not there", timeout=0))
    []
    """
    seen = None
    while True:
        started = time.monotonic()
        path = latest_checkpoint(checkpoint_dir)
        while path is None or path == seen:
            if timeout is not None and time.monotonic() - started >= timeout:
                if timeout_fn is None or timeout_fn():
                    return
                started = time.monotonic()
            time.sleep(0.05 if timeout is None else min(0.05, max(timeout, 0.001)))
            path = latest_checkpoint(checkpoint_dir)
        seen = path
        before = time.monotonic()
        yield path
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - before)))


def value_for(bundle: Bundle, key: str, dtype: DType, shape: TensorShape, name: str) -> np.ndarray:
    """Read the tensor `key` as a value for a variable of this dtype and shape.

    NotFoundError if there is none, InvalidArgumentError if it does not fit.
    """
    from_file = bundle.entries.get(key)
    if from_file is None:
        raise not_found(
            f"Restoring from checkpoint failed: Key {key} not found in checkpoint {bundle.prefix}"
            f" (wanted for the variable '{name}')",
            "tf.train.list_variables(path) names what is there",
        )
    if from_file.dtype is not dtype:
        raise invalid(
            "TW507",
            f"tensor {key} of the checkpoint has dtype {from_file.dtype.name}, the variable "
            f"'{name}' {dtype.name}",
        )
    if not shape.is_compatible_with(from_file.dims):
        raise invalid(
            "TW507",
            f"Assign requires shapes of both tensors to match: tensor {key} of the checkpoint has "
            f"shape {list(from_file.dims)}, the variable '{name}' {shape}",
        )
    return bundle.read(key)

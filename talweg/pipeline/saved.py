"""Stages that keep elements in files: cache with a name, save and load, snapshot.

The elements stand in files of records (`records.py`), each as `codec.py` writes it, beside a file
in JSON that says what they are; that file is written last, so whatever is incomplete is not read.
"""

from __future__ import annotations

import contextlib
import json
import os
import reprlib
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from talweg.core.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    compose,
    value_error,
)
from talweg.core.system_errors import from_system
from talweg.formats import files
from talweg.pipeline.codec import decode, encode, spec_from_json, spec_to_json
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.function import DataFunction
from talweg.pipeline.records import RecordFile, make_damaged_error, records_in
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import UNKNOWN, PassOn, Stage

ABOUT = "dataset_spec.json"
SHARD = "{:08d}.shard"
LEAST = 16  # bytes of a record
DENSEST = 1040  # bytes that one of a compressed file stands for, at most (RFC 1951: 1032)


class FileCache(PassOn):
    """The elements, written to files in the first whole pass and read from these later."""

    name = "CacheDataset"

    def __init__(self, source: Any, path: str):
        super().__init__(source)
        self.path, self.lock = path, f"{path}_0.lockfile"
        spec_to_json(source.layout.spec)  # TypeError now for what cannot be written

    def rows(self, run: IterationRun) -> None:
        """Return None: an order that was drawn before must stay."""
        return

    def start(self, run: IterationRun) -> Next:
        """Read if everything is there, else compute and write."""
        step: Any = None

        def first() -> tuple:
            nonlocal step
            if step is None:
                is_whole = os.path.exists(f"{self.path}.index")
                step = self._reading() if is_whole else self._writing(run)
            return step()

        return first

    def _reading(self) -> Next:
        about = _check_json(
            Path(f"{self.path}.index"), {key: _FIELDS[key] for key in ("spec", "count")}
        )
        path, count = f"{self.path}.data-00000-of-00001", about["count"]
        source, seen = _records(self.layout, [path], ""), 0

        def step() -> tuple:
            nonlocal seen
            try:
                flat = source()
            except End:
                if seen != count:
                    raise make_damaged_error(f"it has {seen} elements of {count}", path) from None
                raise
            seen += 1
            return flat

        return step

    def _writing(self, run: IterationRun) -> Next:
        writer = _CacheWriter(self.path, self.lock)
        source = self.inputs[0].start(run)
        layout = self.layout

        def step() -> tuple:
            try:
                flat = source()
            except End:
                writer.finish(layout)
                raise
            writer.write(encode(layout, flat))
            return flat

        return step


class _CacheWriter:
    """The files of a cache under construction; they go if nobody finishes them."""

    def __init__(self, path: str, lock: str):
        self.path, self.lock, self.file = path, lock, None
        self.held = _hold_lock(lock)
        self.file = RecordFile(f"{path}.data-00000-of-00001")
        self.count = 0

    def write(self, data: bytes) -> None:
        """Write one more element."""
        self.file.write(data)
        self.count += 1

    def finish(self, layout: ElementLayout) -> None:
        """Note that everything is there."""
        if self.file is None:
            return
        self.file.close(durable=True)
        self.file = None
        files.sync_folder(os.path.dirname(self.path) or ".")
        about = {"spec": spec_to_json(layout.spec), "count": self.count}
        _write_json(Path(f"{self.path}.index"), about)
        os.remove(self.lock)
        self.held.close()

    def __del__(self) -> None:
        if getattr(self, "file", None) is not None:
            with contextlib.suppress(OpError):
                self.file.close()
            for path in (self.lock, f"{self.path}.data-00000-of-00001"):
                with contextlib.suppress(OSError):
                    os.remove(path)
            self.held.close()


def _hold_lock(path: str) -> BinaryIO:
    """Return the lock file of a cache, held; AlreadyExistsError where another writer lives.

    One that a killed process has left is taken over, where the system knows (flock).
    """
    try:
        known = os.path.exists(path)
        held = open(files.check_name(path), "ab")  # noqa: SIM115 -- closed by who holds it
    except OSError as error:
        raise from_system(error, path) from None
    if files.try_lock(held) or not known:
        return held
    held.close()
    raise AlreadyExistsError(
        None,
        None,
        compose(
            "TW209",
            "There appears to be a concurrent caching iterator running - "
            f"cache lockfile already exists ('{path}').",
            hint="delete the lockfile if you are sure that nobody writes this cache",
        ),
    )


def _write_json(path: Path, value: object) -> None:
    files.write_file(str(path), [json.dumps(value).encode()])


def _records(layout: ElementLayout, paths: list[str], compression: str) -> Next:
    """Return the elements in files of records, one file after the other."""
    waiting = list(paths)
    source: Any = iter(())

    def step() -> tuple:
        nonlocal source
        while True:
            for data in source:
                return decode(layout, data)
            if not waiting:
                raise End
            source = records_in(waiting.pop(0), compression)

    return step


# -- saved datasets


def kind_of_compression(compression: str | None) -> str:
    """Return '' or 'GZIP' for what users may ask for; ValueError for another."""
    found = {None: "", "": "", "NONE": "", "AUTO": "", "GZIP": "GZIP", "SNAPPY": "GZIP"}
    if compression not in found:
        raise value_error("TW207", f"compression {compression!r}", "None, 'GZIP' or 'AUTO'")
    return found[compression]


def save(
    bound: Any, layout: ElementLayout, path: str, compression: str, shard: DataFunction | None
) -> None:
    """Write all elements into a new run below `path`, in the shards that a function says."""
    run = uuid.uuid4().hex[:16]
    folder = Path(path) / run
    shards: dict[int, RecordFile] = {}
    choose = None if shard is None else shard.run_with(IterationRun({}, None))
    spec, count = spec_to_json(layout.spec), 0
    step = bound.start()
    try:
        while True:
            try:
                flat = step()
            except End:
                break
            which = 0 if choose is None else int(choose(flat)[0])
            if which not in shards:
                shard_folder = folder / SHARD.format(which)
                files.make_folder(str(shard_folder))
                shards[which] = RecordFile(str(shard_folder / "00000000.snapshot"), compression)
            shards[which].write(encode(layout, flat))
            count += 1
        for file in shards.values():
            file.close(durable=True)
        files.make_folder(str(folder))
        files.sync_tree(str(folder))
        files.sync_folder(path)
    except BaseException:
        for file in shards.values():
            with contextlib.suppress(OpError):
                file.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    about = {
        "spec": spec,
        "count": count,
        "run": run,
        "compression": compression,
        "shards": sorted(shards),
    }
    _write_json(Path(path) / ABOUT, about)


def about(path: str) -> dict:
    """Read the facts about a saved dataset; NotFoundError without one, DataLossError for damage."""
    try:
        found = _check_json(Path(path) / ABOUT, _FIELDS)
    except (NotFoundError, FailedPreconditionError):  # or what should be its folder is a file
        text = compose("TW209", f"Could not find a saved dataset at {path}: no {ABOUT}")
        raise NotFoundError(None, None, text) from None
    held = sum(map(_size, _shard_files(path, found, found["shards"])))
    if found["count"] * LEAST > held * (DENSEST if found["compression"] else 1):
        text = f"{found['count']} elements do not stand in files of {held} bytes"
        raise make_damaged_error(f"the field 'count': {text}", str(Path(path) / ABOUT))
    return found


def _shard_files(path: str, found: dict, shards: list[int]) -> list[str]:
    folder = os.path.join(path, found["run"])
    return [os.path.join(folder, SHARD.format(n), "00000000.snapshot") for n in shards]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise from_system(error, path) from None


def _check_json(file: Path, fields: dict[str, Callable[[Any], bool]]) -> dict:
    """Return the facts about elements in a JSON file; DataLossError unless each field is right."""
    try:
        facts = json.loads(file.read_bytes())
    except OSError as error:
        raise from_system(error, str(file)) from None
    except (ValueError, RecursionError) as error:
        raise make_damaged_error(f"no JSON ({error})", str(file)) from None
    if not isinstance(facts, dict):
        raise make_damaged_error("no JSON object", str(file))
    for key, is_right in fields.items():
        if not is_right(facts.get(key)):
            raise make_damaged_error(
                f"the field {key!r} is {reprlib.repr(facts.get(key))}", str(file)
            )
    try:
        spec_from_json(facts["spec"])
    except Exception as error:  # whatever a spec makes of parts that are none
        raise make_damaged_error(f"the field 'spec' is none ({error})", str(file)) from None
    return facts


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "spec": lambda value: isinstance(value, dict),
    "count": _is_number,
    "run": lambda value: isinstance(value, str) and value.isalnum(),  # a folder's name, not a path
    "compression": lambda value: value in ("", "GZIP"),
    "shards": lambda value: isinstance(value, list) and all(map(_is_number, value)),
}


class Saved(Stage):
    """The elements of one shard of a saved dataset, or of several, in turn if `all_shards`."""

    name = "_LoadDataset"

    def __init__(self, path: str, found: dict, layout: ElementLayout, shards: list[int]):
        super().__init__(layout)
        self.count = found["count"] if shards == found["shards"] else UNKNOWN
        self.paths = _shard_files(path, found, shards)
        self.compression = found["compression"]

    def size(self, run: IterationRun) -> int:
        """Return the number of saved elements."""
        return self.count

    def start(self, run: IterationRun) -> Next:
        """Read; an element of each shard in turn."""
        steps = [_records(self.layout, [path], self.compression) for path in self.paths]
        here = 0

        def step() -> tuple:
            nonlocal here
            while steps:
                here %= len(steps)
                try:
                    flat = steps[here]()
                except End:
                    steps.pop(here)
                    continue
                here += 1
                return flat
            raise End

        return step


def load_layout(found: dict, element_spec: object) -> ElementLayout:
    """Return the layout of a saved dataset; ValueError if the one given does not fit."""
    own = ElementLayout(spec_from_json(found["spec"]))
    if element_spec is None:
        return own
    given = ElementLayout(element_spec)
    fits = len(own.flat) == len(given.flat) and all(
        [one.is_compatible_with(other) for one, other in zip(own.flat, given.flat)]
    )
    if not fits:
        raise value_error(
            "TW208",
            f"load: element_spec {element_spec!r} does not fit {own.spec!r}, as saved",
        )
    return given


class Snapshot(PassOn):
    """The elements, saved in the first whole pass and read from files ever after."""

    name = "_SnapshotDataset"

    def __init__(self, source: Any, path: str, compression: str, shard: DataFunction | None):
        super().__init__(source)
        self.path, self.compression, self.shard = path, compression, shard
        spec_to_json(source.layout.spec)

    def rows(self, run: IterationRun) -> None:
        """Return None: an order that was drawn before must stay."""
        return

    def start(self, run: IterationRun) -> Next:
        """Read the saved elements; save them first if there are none."""
        step: Any = None

        def first() -> tuple:
            nonlocal step
            if step is None:
                if not (Path(self.path) / ABOUT).exists():
                    source = _Within(self.inputs[0], run)
                    save(source, self.layout, self.path, self.compression, self.shard)
                description = about(self.path)
                layout = load_layout(description, self.layout.spec)
                step = Saved(self.path, description, layout, description["shards"]).start(run)
            return step()

        return first


class _Within:
    """A stage within a pass, begun like a dataset."""

    def __init__(self, stage: Any, run: IterationRun):
        self.stage, self.run = stage, run

    def start(self) -> Next:
        return self.stage.start(self.run)


def shard_function(
    function: Callable[..., Any] | None, layout: ElementLayout
) -> DataFunction | None:
    """Return the traced function that says which shard an element belongs to."""
    if function is None:
        return None
    found = DataFunction(function, [layout], "shard_func")
    spec: Any = found.layout.spec
    if getattr(spec, "dtype", None) is None or spec.dtype.numpy_dtype != np.int64:
        raise InvalidArgumentError(
            None, None, compose("TW102", f"`shard_func` must return an int64 scalar, got {spec!r}")
        )
    return found

"""What was compiled for another processor, or is damaged, is compiled anew and never run.

Processors are imitated by what Linux says of them (`/proc/cpuinfo`) and by `TALWEG_CPU`; damage has
a right checksum here, as if it had been written so.
"""

from __future__ import annotations

import json
import struct

import llvmlite.binding as llvm
import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import cache, compilation, manifest
from talweg.execute.llvm import processor
from talweg.execute.llvm.link import code, elf, jit
from talweg.trace.autograph import cache as kept

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 8)
OURS = b"converted\n"  # what AutoGraph made: Python's, whatever the processor


def network(x):
    for _ in range(3):
        x = tf.tanh(x @ tf.transpose(x) @ x) + tf.exp(-x)
    return tf.nn.softmax(x), tf.reduce_sum(x, 0)


class Watched:
    """What was lowered, what was read of the disk, and what was written, by key."""

    def __init__(self):
        self.lowered: list[str] = []
        self.read: dict[bytes, bytes] = {}
        self.written: dict[bytes, bytes] = {}

    def forget(self) -> None:
        self.lowered.clear()
        self.read.clear()
        self.written.clear()

    def run(self) -> list:
        """The network as a function that was never called before."""
        self.forget()
        return [part.numpy() for part in tf.function(network)(tf.constant(X))]


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Everything is compiled, into an empty cache, and noted."""
    seen, made, get, put = Watched(), compilation.compile_program, cache.get, cache.put

    def noted(program, *rest):
        seen.lowered.append(program.name)
        return made(program, *rest)

    def read(key):
        content = get(key)
        if content is not None and not key.startswith(OURS):
            seen.read[key] = content
        return content

    def written(key, content):
        if not key.startswith(OURS):
            seen.written[key] = content
        return put(key, content)

    monkeypatch.setattr(compilation, "compile_program", noted)
    monkeypatch.setattr(cache, "get", read)
    monkeypatch.setattr(cache, "put", written)
    with settings.cache(str(tmp_path / "cache")), settings.executor("llvm"):
        yield seen


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that makes this machine another, of which Linux says something else."""
    if processor.describe_processor() is None:
        pytest.skip("no /proc/cpuinfo: keys name what LLVM finds")
    file, told = tmp_path / "cpuinfo", processor.describe_processor()

    def become(change) -> None:
        file.write_text(change(told) + "\n\n")
        code._fingerprint.cache_clear()

    monkeypatch.setattr(processor, "INFO", str(file))
    become(str)
    yield become
    monkeypatch.undo()
    code._fingerprint.cache_clear()


def with_flags(change):
    """What is told of a processor with other flags."""

    def changed(told: str) -> str:
        lines = []
        for line in told.splitlines():
            name, _, rest = line.partition(":")
            is_flags = name.strip() == "flags"
            lines.append(f"{name}: {' '.join(change(rest.split()))}" if is_flags else line)
        return "\n".join(lines)

    return changed


OTHERS = {
    "less": with_flags(lambda flags: [flag for flag in flags if not flag.startswith("avx")]),
    "more": with_flags(lambda flags: [*flags, "avx10", "amx_tile"]),
    "another model": lambda told: told.replace("model name\t: ", "model name\t: Another "),
    "another maker": lambda told: told.replace("vendor_id\t: ", "vendor_id\t: Other"),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_code_of_another_processor_is_not_found(watched, machine, change):
    machine(change)
    there = watched.run()
    assert watched.lowered == ["network"] and watched.written and not watched.read
    others = set(watched.written)
    machine(str)
    here = watched.run()
    assert watched.lowered == ["network"]
    assert not watched.read and not others & set(watched.written)
    for a, b in zip(here, there):
        np.testing.assert_array_equal(a, b)
    watched.run()
    assert not watched.lowered and watched.read
    machine(change)
    watched.run()
    assert not watched.lowered and set(watched.read) <= others


def test_code_of_another_level_is_not_found(watched):
    keys: set[bytes] = set()
    results = []
    for level in levels():
        with settings.cpu(level):
            results.append(watched.run())
            assert watched.lowered == ["network"] and not set(watched.read) & keys
            assert not keys & set(watched.written)
            keys |= set(watched.written)
            assert all(np.array_equal(*pair) for pair in zip(watched.run(), results[-1]))
            assert not watched.lowered
    for found in results:
        for a, b in zip(found, results[0]):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def levels() -> list[str]:
    """What this machine can be."""
    able = llvm.get_host_cpu_features()
    there = llvm.get_process_triple().startswith("x86_64")
    fitting = [
        name
        for name, level in processor.LEVELS.items()
        if there and all(able.get(feature) for feature in level.features)
    ]
    return ["native", *fitting]


def test_levels_decide_features_and_vectors():
    flat = "+avx,+avx2,+fma"
    able = dict.fromkeys([*processor.LEVELS["x86-64-v3"].features, "avx512f"], True)
    triple = "x86_64-unknown-linux-gnu"
    choose = lambda able, triple=triple: processor.choose_processor("znver4", triple, able, flat)  # noqa: E731
    assert set(settings.CPUS) == {"native", *processor.LEVELS}
    with settings.cpu("native"):
        assert choose(able) == ("znver4", flat, 32, True, False, False)
        tiles = dict.fromkeys(processor.MATRIX_TILES, True)
        assert choose({**able, **tiles}).matrix_tiles
        assert choose({"sse2": True}).vector_bytes == 16
        wide = dict.fromkeys(processor.LEVELS["x86-64-v4"].features, True)
        assert choose(wide).vector_bytes == 32  # Skylake slows down
        assert choose({**wide, "avx512vbmi2": True}).vector_bytes == 64
        rounds = {processor.BFLOAT16: True}
        assert not choose({**wide, **rounds}).rounds_bfloat16  # by vectors of 64 bytes
        assert choose({**wide, **rounds, "avx512vbmi2": True}).rounds_bfloat16
    with settings.cpu("x86-64-v4"):
        assert choose(wide) == ("x86-64-v4", "", 64, True, False, False)
        with pytest.raises(ValueError, match="avx512bw"):
            choose(able)
    with settings.cpu("x86-64-v2"):
        assert choose(able) == ("x86-64-v2", "", 16, False, False, False)
        with pytest.raises(ValueError, match="sse4.1"):
            choose({**able, "sse4.1": False})
        with pytest.raises(ValueError, match="aarch64"):
            choose(able, "aarch64-unknown-linux-gnu")
    with settings.cpu("x86-64-v3"):
        assert choose(able) == ("x86-64-v3", "", 32, True, False, False)
        with pytest.raises(ValueError, match="TALWEG_CPU=x86-64-v3 asks for .*lacks: avx2, fma"):
            choose({**able, "avx2": False, "fma": False})
    with settings.cpu("pentium"), pytest.raises(ValueError, match="TALWEG_CPU='pentium'"):
        choose(able)


@pytest.mark.parametrize("level", levels())
def test_code_keeps_to_its_level(level):
    text = (
        "define void @run(ptr %x) {\n  %v = load <8 x float>, ptr %x, align 4\n"
        "  %w = fmul <8 x float> %v, %v\n  store <8 x float> %w, ptr %x, align 4\n  ret void\n}"
    )
    with settings.cpu(level):
        assembly = jit.assembly(text)
        assert (
            jit.vector_bytes()
            == processor.choose_processor(
                "", llvm.get_process_triple(), llvm.get_host_cpu_features(), ""
            ).vector_bytes
        )
    if level in ("x86-64", "x86-64-v2"):
        assert "%xmm" in assembly and "%ymm" not in assembly
    elif level == "x86-64-v3":
        assert "%ymm" in assembly and "%zmm" not in assembly


# -- damage


def manifest_of(written) -> tuple[bytes, bytes]:
    ((key, content),) = [item for item in written.items() if item[0].startswith(b"manifest\n")]
    return key, content


def with_about(content: bytes, change) -> bytes:
    """A manifest with something changed in what it says."""
    (size,) = struct.unpack_from("<Q", content)
    about = json.loads(content[8 : 8 + size])
    change(about)
    text = json.dumps(about).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


def setting(name, value):
    def change(about):
        about[name] = value(about[name]) if callable(value) else value

    return change


def first_buffer(place, value):
    def changed(rows):
        first = list(rows[0])
        first[place] = value
        return [first, *rows[1:]]

    return setting("buffers", changed)


ABOUTS = {
    "no buffers": setting("buffers", []),
    "a name that is none": first_buffer(1, "float33"),
    "a shape of another rank": first_buffer(2, [5, 8, 1]),
    "another shape": first_buffer(2, [50, 8]),
    "another dtype": first_buffer(1, "float64"),
    "a negative extent": first_buffer(2, [-5, -8]),
    "an extent that is no number": first_buffer(2, ["5", 8]),
    "an unknown kind": first_buffer(3, "inputs"),
    "a part of itself": first_buffer(5, 0),
    "a part of nothing": first_buffer(5, 10_000),
    "a place behind the end": setting("inputs", [10_000]),
    "a variable that is not there": setting("states", [[7, 0, True]]),
    "other threads": setting("known", lambda known: [known[0], known[1], 1 << 40, known[3]]),
    "an unknown routine": setting("known", lambda known: [["talweg_nonsense"], *known[1:]]),
    "too few facts": setting("known", lambda known: known[:2]),
    "a negative arena": setting("plan", lambda plan: [-1, *plan[1:]]),
    "no list": setting("outputs", 3),
    "null": setting("plan", None),
    "other code": setting("code", "0" * 64),
    "a missing name": lambda about: about.pop("guard"),
}
CONTENTS = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:50],
    "a longer text": lambda content: struct.pack("<Q", 1 << 60) + content[8:],
    "no text": lambda content: content[:8] + bytes(len(content) - 8),
    "no JSON": lambda content: content.replace(b'"', b"'"),
    "no UTF-8": lambda content: content.replace(b'"name"', b'"n\xffme"'),
    "another thing": lambda content: struct.pack("<Q", 2) + b"[]",
    "deep": lambda content: struct.pack("<Q", 200_000) + b"[" * 200_000,
} | {
    name: lambda content, change=change: with_about(content, change)
    for name, change in ABOUTS.items()
}


@pytest.mark.parametrize("damage", CONTENTS.values(), ids=CONTENTS)
def test_a_damaged_manifest_is_made_anew(watched, damage):
    wanted = watched.run()
    key, content = manifest_of(watched.written)
    assert cache.put(key, damage(content))
    for made in (["network"], []):
        for a, b in zip(watched.run(), wanted):
            np.testing.assert_array_equal(a, b)
        assert watched.lowered == made
    assert watched.read[key] == content


OBJECTS = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:100],
    "text": lambda content: b"talweg" * 100,
    "of another architecture": lambda content: content[:18] + b"\xb7\x00" + content[20:],
    "an archive": lambda content: b"!<arch>\n" + content[8:],
    "joined from nothing": lambda content: code._JOINED + bytes(8),
    "joined from too many": lambda content: code._JOINED + b"\xff" * 8,
    "joined and cut short": lambda content: code.join_objects([content, content])[:-1],
    "without its functions": lambda content: content.replace(b"run\0", b"ran\0"),
}


@pytest.mark.parametrize("damage", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.skipif(not elf.works(), reason="LLVM reads object files there, and trusts them")
def test_damaged_code_is_compiled_anew(watched, damage):
    wanted = watched.run()
    codes = {key: content for key, content in watched.written.items() if key[:8] != b"manifest"}
    assert {key.split(b"\n")[0] for key in codes} == {b"program", b"module"}
    for key, content in codes.items():
        assert cache.put(key, damage(content))
    for made in (["network"], []):
        for a, b in zip(watched.run(), wanted):
            np.testing.assert_array_equal(a, b)
        assert watched.lowered == made


@pytest.mark.skipif(not elf.works(), reason="LLVM reads object files there, and trusts them")
def test_llvm_is_not_given_damaged_code(watched, monkeypatch):
    """It ends the process over some of it."""
    text = "define i32 @run() {\n  ret i32 41\n}\n"
    code.compile_module(text)
    cache.put(code.key(text), OBJECTS["cut short"](cache.get(code.key(text))))
    monkeypatch.setattr(jit, "Linked", None)
    code.compile_module(text)
    assert elf.Image(cache.get(code.key(text)), {}).addresses["run"]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"i\1\0\0\0", b"(\3\0\0\0NNN", b"(\0\0\0\0"])
def test_damaged_conversions_are_made_again(tmp_path, content, monkeypatch):
    with settings.cache(str(tmp_path / "cache")):
        made: list = []
        monkeypatch.setattr(kept, "_key", lambda function, purpose: b"key")
        make = lambda: made.append(1) or True  # noqa: E731
        assert kept.get_or_make(network, "test", make) is True and len(made) == 1
        assert kept.get_or_make(network, "test", make) is True and len(made) == 1
        cache.put(b"key", content)
        assert kept.get_or_make(network, "test", make) is True and len(made) == 2
        assert kept.get_or_make(network, "test", make) is True and len(made) == 2


def test_manifests_are_sound(watched):
    """The check of what was read finds nothing in what is right."""
    (result, _) = watched.run()
    assert result.shape == (5, 8)
    key, _ = manifest_of(watched.written)
    watched.run()
    assert key in watched.read and not watched.lowered
    assert set(manifest.KINDS) >= {"input", "output", "state", "constant", "temporary", "scratch"}

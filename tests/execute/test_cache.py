"""Object code on disk: whole entries or none, bounded, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from talweg.core import settings
from talweg.execute import cache
from talweg.execute.cache import CompilationCache
from talweg.execute.llvm.link import code, jit

MODULE = "define i32 @run() {\n  ret i32 41\n}\n"


@pytest.fixture
def folder(tmp_path):
    """An empty cache that the settings name."""
    place = tmp_path / "cache"
    with settings.cache(str(place)):
        yield place


def test_entries_come_back(tmp_path):
    kept = CompilationCache(str(tmp_path / "new" / "folder"), 1 << 20)
    assert kept.get(b"key") is None
    assert kept.put(b"key", b"content")
    assert kept.get(b"key") == b"content"
    assert kept.get(b"another") is None
    assert CompilationCache(kept.folder, 1 << 20).get(b"key") == b"content"
    assert kept.put(b"key", b"") and kept.get(b"key") == b""


def test_damaged_entries_are_absent_and_written_again(tmp_path):
    kept = CompilationCache(str(tmp_path), 1 << 20)
    kept.put(b"key", b"content" * 20)
    path = kept.path(b"key")
    with open(path, "rb") as file:
        whole = file.read()
    damaged = [whole[:n] for n in (0, 5, 20, 45, len(whole) - 1)] + [whole + b"x", b"foreign" * 30]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole), 7)]
    for text in damaged:
        with open(path, "wb") as file:
            file.write(text)
        assert kept.get(b"key") is None
    assert kept.put(b"key", b"content") and kept.get(b"key") == b"content"


def test_an_entry_under_the_name_of_another_is_absent(tmp_path):
    kept = CompilationCache(str(tmp_path), 1 << 20)
    kept.put(b"one", b"content")
    os.rename(kept.path(b"one"), kept.path(b"two"))
    assert kept.get(b"two") is None


def test_those_used_longest_ago_go(tmp_path):
    kept = CompilationCache(str(tmp_path), 100_000)
    for i in range(20):
        kept.put(b"%d" % i, bytes(10_000))
        os.utime(kept.path(b"%d" % i), (1000 + i, 1000 + i))
        assert sum(size for _, size, _ in kept.entries()) <= 110_000
        kept.get(b"0")  # used again
    assert kept.get(b"0") and kept.get(b"19")
    assert kept.get(b"1") is None


def test_a_write_takes_as_long_however_much_is_there(tmp_path, monkeypatch):
    kept, looked = CompilationCache(str(tmp_path), 1 << 30), []
    entries = kept.entries
    monkeypatch.setattr(kept, "entries", lambda: looked.append(0) or entries())
    for i in range(800):
        kept.put(b"%d" % i, b"")
    assert 3 < len(looked) < 14
    assert kept.total >= 800 * 40


def test_other_files_stay_and_litter_goes(tmp_path):
    kept = CompilationCache(str(tmp_path), 1000)
    (tmp_path / "mine.txt").write_text("text")
    old, new = tmp_path / ("old" + cache.TEMPORARY), tmp_path / ("new" + cache.TEMPORARY)
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    for i in range(30):
        kept.put(b"%d" % i, bytes(100))
    assert (tmp_path / "mine.txt").read_text() == "text"
    assert new.exists() and not old.exists()


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    kept = CompilationCache(str(tmp_path), 1 << 20)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    assert not kept.put(b"key", b"content")
    assert kept.get(b"key") is None and not list(tmp_path.iterdir())
    monkeypatch.undo()
    assert not kept.put(b"key", b"content")  # it is off for this process


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, folder):
    (tmp_path / "file").write_text("not a folder")
    with settings.cache(str(tmp_path / "file" / "cache")):
        assert code.object_file(MODULE) == code.object_file(MODULE)
        assert not cache.put(b"key", b"content") and cache.get(b"key") is None


def test_a_folder_others_may_write_to_is_not_used(tmp_path):
    kept = CompilationCache(str(tmp_path), 1 << 20)
    kept.put(b"key", b"content")
    os.chmod(tmp_path, 0o777)
    other = CompilationCache(str(tmp_path), 1 << 20)
    assert other.get(b"key") is None and not other.put(b"key", b"content")


def test_what_is_too_large_is_not_kept(tmp_path):
    kept = CompilationCache(str(tmp_path), 1000)
    assert not kept.put(b"key", bytes(600)) and kept.put(b"key", bytes(400))


def test_it_can_be_off(folder):
    with settings.cache("off"):
        assert cache.current() is None
        assert not cache.put(b"key", b"content") and cache.get(b"key") is None
        assert code.object_file(MODULE)
    assert not folder.exists()


def test_the_default_folder(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.default_folder() == "/somewhere/talweg"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.default_folder() == "/home/me/.cache/talweg"


def test_a_hit_parses_optimizes_and_generates_nothing(folder, monkeypatch):
    first = code.compile_module(MODULE)
    for name in ("parse", "optimize", "CompileWorkers"):
        monkeypatch.setattr(jit, name, None)
    second = code.compile_module(MODULE)
    assert first.addresses["run"] != second.addresses["run"]
    assert call(second) == 41


def test_a_damaged_object_is_compiled_again(folder):
    code.compile_module(MODULE)
    (entry,) = [path for path in folder.iterdir() if path.name.endswith(cache.SUFFIX)]
    entry.write_bytes(entry.read_bytes()[:-1])
    assert call(code.compile_module(MODULE)) == 41
    assert cache.get(code.key(MODULE)) is not None


def test_other_processors_have_other_entries(folder, monkeypatch):
    code.compile_module(MODULE)
    monkeypatch.setattr(code, "fingerprint", lambda: "another")
    assert cache.get(code.key(MODULE)) is None


def call(made: code.LoadedCode) -> int:
    import ctypes

    return ctypes.CFUNCTYPE(ctypes.c_int32)(made.addresses["run"])()


WORKER = """
import sys
from talweg.execute.cache import CompilationCache
kept = CompilationCache(sys.argv[1], 400_000)
for round in range(20):
    for i in range(12):
        content = bytes([i]) * (1000 * (i + 1))
        found = kept.get(b"%d" % i)
        assert found is None or found == content, i
        if found is None or round % 3 == i % 3:
            assert kept.put(b"%d" % i, content)
"""


def test_several_processes_at_once(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path / "shared")]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    for worker in workers:
        _, errors = worker.communicate(timeout=600)
        assert worker.returncode == 0, errors.decode()
    names = os.listdir(tmp_path / "shared")
    assert names and all(name.endswith(cache.SUFFIX) for name in names)


def test_what_others_may_write_is_not_read(tmp_path):
    """Folders above are looked at, too, and the file itself; above, a sticky one will do."""
    above = tmp_path / "above"
    folder = above / "cache"
    folder.mkdir(parents=True, mode=0o700)
    kept = cache.CompilationCache(str(folder), 1 << 20)
    assert kept.put(b"key", b"code")

    def found():
        return cache.CompilationCache(str(folder), 1 << 20).get(b"key")

    assert found() == b"code"
    for path, mode, expected in (
        (above, 0o777, None),
        (above, 0o1777, b"code"),
        (above, 0o755, b"code"),
        (kept.path(b"key"), 0o666, None),
        (kept.path(b"key"), 0o644, b"code"),
    ):
        os.chmod(path, mode)
        assert found() == expected, (path, oct(mode))


def test_folders_of_others_are_not_used(tmp_path, monkeypatch):
    """The folder, one above, one that links lead through, a file: each another user's."""
    above, there = tmp_path / "above", tmp_path / "there"
    for path in (above / "cache", there):
        path.mkdir(parents=True, mode=0o700)
    kept = CompilationCache(str(above / "cache"), 1 << 20)
    assert kept.put(b"key", b"code") and kept.get(b"key") == b"code"
    others: set[str] = set()
    look, look_in = os.lstat, os.fstat

    def tell(status, path):
        is_other = path in others or status.st_ino in {look(other).st_ino for other in others}
        return os.stat_result((*status[:4], 12345 if is_other else status[4], *status[5:10]))

    monkeypatch.setattr(os, "lstat", lambda path: tell(look(path), os.fspath(path)))
    monkeypatch.setattr(os, "fstat", lambda file: tell(look_in(file), ""))
    for path in (above, above / "cache", kept.path(b"key")):
        others = {str(path)}
        other = CompilationCache(str(above / "cache"), 1 << 20)
        assert other.get(b"key") is None
        assert other.put(b"new", b"code") == (path not in (above, above / "cache"))
    (there / "link").symlink_to(above)
    others = {str(above)}
    assert CompilationCache(str(there / "link" / "cache"), 1 << 20).get(b"key") is None


def test_a_link_that_is_turned_elsewhere_is_not_followed_again(tmp_path):
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("mine")
    kept = CompilationCache(str(tmp_path / "link"), 1 << 20)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("theirs")
    assert kept.put(b"key", b"code") and kept.get(b"key") == b"code"
    assert len(os.listdir(tmp_path / "mine")) == 1 and not os.listdir(tmp_path / "theirs")
    (tmp_path / "mine").rename(tmp_path / "gone")  # and one that stands in the place of the folder
    (tmp_path / "mine").symlink_to("theirs")
    assert not kept.put(b"new", b"code") or not os.listdir(tmp_path / "theirs")
    assert not CompilationCache(str(tmp_path), 1).put(b"key", b"code")


def test_nothing_is_made_where_others_may_write(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode, is_kept in ((0o777, False), (0o775, False), (0o1777, True), (0o755, True)):
        shared.chmod(mode)
        kept = CompilationCache(str(shared / f"{mode}" / "cache"), 1 << 20)
        if mode == 0o775 and shared.stat().st_gid == os.getuid() != 0:
            continue  # a group of the user's own
        assert kept.put(b"key", b"code") == is_kept, oct(mode)
        assert (shared / f"{mode}").exists() == is_kept
    assert (shared / f"{0o755}").stat().st_mode & 0o777 == 0o700  # whatever the umask


def test_the_group_of_one_user_may_write(tmp_path, monkeypatch):
    import grp
    import pwd

    user = tmp_path.stat().st_uid + 7
    status = os.stat_result((0o40770, 0, 0, 1, user, user, 0, 0, 0, 0))
    monkeypatch.setattr(os, "lstat", lambda path: status)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: user)
    monkeypatch.setattr(
        pwd, "getpwuid", lambda uid: pwd.struct_passwd(("me", "", uid, uid, *"abc"))
    )
    for members, attributes, is_ours in (
        ([], [], True),
        (["me"], [], True),
        (["me", "you"], [], False),
        ([], ["system.posix_acl_access"], False),
    ):
        found = grp.struct_group(("me", "", user, members))
        monkeypatch.setattr(grp, "getgrgid", lambda gid, found=found: found)
        monkeypatch.setattr(os, "listxattr", lambda path, a=attributes: a, raising=False)
        assert cache._is_ours(str(tmp_path)) == is_ours, (members, attributes)
    monkeypatch.setattr(os, "getegid", lambda: user + 1)
    assert not cache._is_ours(str(tmp_path))


@pytest.mark.parametrize(
    ("setting", "variables", "made"),
    [
        ("", {}, ""),
        ("", {"HOME": ""}, ""),
        ("", {"HOME": "relative"}, ""),
        ("", {"XDG_CACHE_HOME": "relative"}, ""),
        ("", {"XDG_CACHE_HOME": "~/x"}, ""),
        ("~/x", {}, ""),
        ("~nobody-of-this-name/x", {}, ""),
        ("~/x", {"HOME": ""}, ""),
        ("~/x", {"HOME": "relative"}, ""),
        ("OFF", {"HOME": "/"}, ""),
        (" ", {}, ""),
        ("a\0b", {}, ""),
        ("below/it", {}, "below"),
    ],
)
def test_a_folder_called_tilde_is_never_made(setting, variables, made, tmp_path, monkeypatch):
    import pwd

    def nobody(name):
        raise KeyError(name)

    for function in ("getpwuid", "getpwnam"):
        monkeypatch.setattr(pwd, function, nobody)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "_caches", {})
    with settings.cache(setting):
        assert cache.put(b"key", b"code") == bool(made)
        assert cache.get(b"key") == (b"code" if made else None)
    assert os.listdir(tmp_path) == [made] * bool(made)


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(cache, "_caches", {})
    with settings.cache("relative"):
        assert not cache.put(b"key", b"code") and cache.get(b"key") is None


def test_without_a_home_there_is_no_cache(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # no HOME, no entry for the user
    assert cache.default_folder() == ""
    with settings.cache(""):
        assert cache.current() is None and not cache.put(b"key", b"code")

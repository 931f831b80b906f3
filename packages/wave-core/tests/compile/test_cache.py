"""The cache on disk: round trips, damage, hostile entries, upkeep."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time

import pytest

from wave_core.compile import cache as module
from wave_core.compile.cache import MAGIC, DiskCache, pack, unpack
from wave_core.diagnostics import UserError

KEY = hashlib.sha256(b"kernel").hexdigest()
OTHER = hashlib.sha256(b"other").hexdigest()
FILES = {"code.hsaco": bytes(range(256)), "manifest.json": b"{}"}


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def path_of(cache, key=KEY):
    return cache.folder / key[:2] / f"{key}.wave"


@pytest.fixture
def place(cache):
    """Where the entry will be; its folder is there."""
    path_of(cache).parent.mkdir(parents=True)
    return path_of(cache)


def test_round_trip(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, FILES)
    assert cache.get(KEY) == FILES
    assert cache.get(OTHER) is None


def test_every_flipped_byte_is_found():
    data = bytearray(pack(KEY, FILES))
    for place in range(len(data)):
        data[place] ^= 0x55
        assert unpack(KEY, bytes(data)) is None
        data[place] ^= 0x55
    assert unpack(KEY, bytes(data)) == FILES


def test_every_truncation_is_found():
    data = pack(KEY, FILES)
    assert all(unpack(KEY, data[:size]) is None for size in range(len(data)))
    assert unpack(KEY, data + b"\0") is None


def test_damage_heals(cache):
    cache.put(KEY, FILES)
    path_of(cache).write_bytes(b"garbage")
    assert cache.get(KEY) is None
    assert not path_of(cache).exists()
    cache.put(KEY, FILES)
    assert cache.get(KEY) == FILES


def test_entry_of_another_key_is_no_hit(cache, place):
    cache.put(OTHER, FILES)
    path_of(cache, OTHER).rename(place)
    assert cache.get(KEY) is None


def sealed(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    rest = len(text).to_bytes(4, "little") + text + body
    return MAGIC + hashlib.sha256(rest).digest() + rest


@pytest.mark.parametrize(
    "header",
    [
        {"key": KEY, "files": [["../../evil", 0]]},
        {"key": KEY, "files": [["/etc/passwd", 0]]},
        {"key": KEY, "files": [["..\\evil", 0]]},
        {"key": KEY, "files": [[".bashrc", 0]]},
        {"key": KEY, "files": [["a\0b", 0]]},
        {"key": KEY, "files": [["C:evil", 0]]},
        {"key": KEY, "files": [["a" * 1000, 0]]},
        {"key": KEY, "files": [["a", 1 << 60]]},
        {"key": KEY, "files": [["a", -1]]},
        {"key": KEY, "files": [["a", True]]},
        {"key": KEY, "files": [["a", 1.0]]},
        {"key": KEY, "files": [[["a"], 0]]},
        {"key": KEY, "files": [["a", 0]] * 65},
        {"key": KEY, "files": "abc"},
        {"key": [KEY]},
        [],
        b"[" * 100_000,
        b"\xff\xff",
        b"1" * 100_000,
    ],
    ids=range(19),
)
def test_hostile_header(header):
    assert unpack(KEY, sealed(header)) is None


def test_header_longer_than_the_entry():
    rest = (1 << 31).to_bytes(4, "little") + b"{}"
    assert unpack(KEY, MAGIC + hashlib.sha256(rest).digest() + rest) is None


def link(place, tmp_path):
    (tmp_path / "secret").write_bytes(pack(KEY, FILES))
    place.symlink_to(tmp_path / "secret")


def pipe(place, tmp_path):
    os.mkfifo(place)


def folder(place, tmp_path):
    place.mkdir()


def device(place, tmp_path):
    place.symlink_to("/dev/zero")


def service(place, tmp_path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(place))


def huge(place, tmp_path):
    with place.open("wb") as file:
        file.truncate(1 << 40)


def unreadable(place, tmp_path):
    place.write_bytes(b"")
    place.chmod(0)


STRANGE = [link, pipe, folder, device, service, huge, unreadable]


@pytest.mark.parametrize("make", STRANGE)
def test_what_is_no_plain_file_is_missing(cache, place, tmp_path, make, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(place, tmp_path)
    started = time.perf_counter()
    assert cache.get(KEY) is None
    assert cache.info().entries in {0, 1}
    cache.put(KEY, FILES)
    assert cache.get(KEY) == (None if make is folder else FILES)
    assert time.perf_counter() - started < 5
    secret = tmp_path / "secret"
    assert not secret.exists() or secret.read_bytes() == pack(KEY, FILES)


def test_file_of_somebody_else_is_missing(cache, monkeypatch):
    cache.put(KEY, FILES)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache.get(KEY) is None


def test_folder_is_private(cache):
    cache.put(KEY, FILES)
    assert cache.folder.stat().st_mode & 0o077 == 0
    assert path_of(cache).stat().st_mode & 0o077 == 0


def test_folder_that_is_a_link_is_not_written(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    DiskCache(tmp_path / "link").put(KEY, FILES)
    assert list((tmp_path / "real").iterdir()) == []
    assert not DiskCache(tmp_path / "link").info().writable


def test_links_inside_are_not_followed(cache, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    names = [f"{KEY}.wave", f".{KEY}.wave.1.ab"]
    for name in names:
        (outside / name).write_bytes(b"mine")
    cache.folder.mkdir()
    (cache.folder / KEY[:2]).symlink_to(outside)
    assert cache.info().entries == 0
    cache.put(KEY, FILES)
    assert (cache.clear(), cache.prune(0)) == (0, 0)
    assert sorted(p.name for p in outside.iterdir()) == sorted(names)


def test_a_folder_that_cannot_be_made_is_as_good_as_none(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.put(KEY, FILES)
    with cache.building(KEY):
        assert cache.get(KEY) is None
    assert (cache.info().entries, cache.info().writable) == (0, False)
    assert cache.clear() == 0


def test_full_disk_leaves_nothing_behind(cache, monkeypatch):
    def full(path, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    cache.put(KEY, FILES)
    assert list(path_of(cache).parent.iterdir()) == []


def test_info_prune_clear(cache):
    cache.put(KEY, FILES)
    cache.put(OTHER, FILES)
    info = cache.info()
    assert (info.entries, info.writable) == (2, True)
    assert info.total_bytes == 2 * path_of(cache).stat().st_size
    assert cache.prune(info.total_bytes // 2) == 1
    assert cache.clear() == 1
    assert cache.info().entries == 0


def test_what_was_used_last_is_kept(cache):
    for age, key in ((7200, KEY), (7000, OTHER)):
        cache.put(key, FILES)
        os.utime(path_of(cache, key), (time.time() - age,) * 2)
    cache.get(KEY)
    assert cache.prune(path_of(cache).stat().st_size) == 1
    assert cache.get(KEY) == FILES


def test_old_drafts_are_pruned(cache):
    cache.put(KEY, FILES)
    drafts = [path_of(cache).with_name(f".{KEY}.wave.1.{n}") for n in "ab"]
    for path in drafts:
        path.write_bytes(b"part")
    os.utime(drafts[0], (0, 0))
    assert cache.prune(1 << 30) == 0
    assert [path.exists() for path in drafts] == [False, True]
    assert cache.clear() == 1
    assert not drafts[1].exists()


def test_others_may_remove_entries_meanwhile(cache, monkeypatch):
    cache.put(KEY, FILES)
    listed = module._listed

    def then_gone(folder):
        found = listed(folder)
        path_of(cache).unlink(missing_ok=True)
        return found

    monkeypatch.setattr(module, "_listed", then_gone)
    assert cache.info().entries == 0
    assert (cache.clear(), cache.prune(0)) == (0, 0)


def test_export(cache, tmp_path):
    cache.put(KEY, FILES)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "code.hsaco").symlink_to(victim)
    paths = cache.export(KEY, tmp_path / "out")
    assert {p.name: p.read_bytes() for p in paths} == FILES
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("key", [OTHER, "../../etc/passwd", "", "A" * 64])
def test_export_of_nothing(cache, tmp_path, key):
    with pytest.raises(UserError, match="no entry"):
        cache.export(key, tmp_path / "out")
    assert not (tmp_path / "out").exists()

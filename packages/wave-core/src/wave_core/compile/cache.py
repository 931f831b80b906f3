"""Files by the digest of what made them: compiled kernels that outlive a process.

An entry is one file, written under another name and renamed, so that it is there as a
whole or not at all. It holds its own key and a digest of everything in it; what does
not match is removed and counts as missing. Nothing in it is code to Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import struct
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wave_core.compile.files import is_file_name, read_plain, write_all
from wave_core.diagnostics import user_error
from wave_runtime.artifact import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from wave_core.compile.config import Config

MAGIC = b"WAVE-1\n\0"
SUFFIX = ".wave"
MAX_ENTRY = 1 << 28
"""Bytes of an entry; larger ones come from no compiler."""

MAX_HEADER = 1 << 20
MAX_FILES = 64
LOCK_WAIT_S = 60.0
"""Seconds that one process waits for another that compiles the same kernel."""

DRAFT_AGE_S = 3600.0
"""Seconds after which nobody is still writing an entry."""

USED_S = 3600.0
"""Seconds to which it is known when an entry was last used."""

PRIVATE = 0o700

_KEY = re.compile(r"[0-9a-f]{64}")
_SHARD = re.compile(r"[0-9a-f]{2}")
_LENGTH = struct.Struct("<I")
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True)
class CacheInfo:
    """The contents of a cache.

    Attributes:
        folder: Where it is.
        entries: How many compiled kernels there are.
        total_bytes: Bytes of all of them.
        writable: Whether more can be kept.
    """

    folder: Path
    entries: int
    total_bytes: int
    writable: bool


def pack(key: str, files: Mapping[str, bytes]) -> bytes:
    """The bytes of an entry."""
    rows = [[name, len(files[name])] for name in sorted(files)]
    header = json.dumps({"key": key, "files": rows}).encode()
    body = _LENGTH.pack(len(header)) + header
    body += b"".join(files[name] for name in sorted(files))
    return MAGIC + hashlib.sha256(body).digest() + body


def unpack(key: str, data: bytes) -> dict[str, bytes] | None:
    """The files of an entry; ``None`` where it is not one, or that of another key."""
    start = len(MAGIC) + _DIGEST
    body = data[start:]
    if data[: len(MAGIC)] != MAGIC or len(body) < _LENGTH.size:
        return None
    if hashlib.sha256(body).digest() != data[len(MAGIC) : start]:
        return None
    (length,) = _LENGTH.unpack_from(body)
    if length > min(MAX_HEADER, len(body) - _LENGTH.size):
        return None
    rows = _rows(key, body[_LENGTH.size : _LENGTH.size + length])
    if rows is None:
        return None
    place, found = _LENGTH.size + length, dict[str, bytes]()
    for name, size in rows:
        found[name] = body[place : place + size]
        place += size
    return found if place == len(body) else None


def _rows(key: str, header: bytes) -> list[tuple[str, int]] | None:
    """The table of an entry, checked."""
    try:
        table: Any = json.loads(header)
    except (ValueError, RecursionError):
        return None
    match table:
        case {"key": named, "files": [*rows]} if named == key:
            found = [_row(row) for row in rows[: MAX_FILES + 1]]
            whole = [row for row in found if row is not None]
            return whole if len(whole) == len(rows) <= MAX_FILES else None
        case _:
            return None


def _row(row: object) -> tuple[str, int] | None:
    match row:
        case [str(name), int(size)] if is_file_name(name) and size >= 0:
            return name, size
        case _:
            return None


class DiskCache:
    """A folder of entries, readable by its owner alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, config: Config) -> Self:
        """The one where a session keeps kernels: as configured, or the platform's."""
        if config.cache_dir is not None:
            return cls(config.cache_dir)
        # Loaded when nothing says where files go.
        from platformdirs import user_cache_path  # noqa: PLC0415

        return cls(user_cache_path("wave", appauthor=False))

    def get(self, key: str) -> dict[str, bytes] | None:
        """The files of ``key``; a damaged entry is removed and counts as missing."""
        path = self._path(key)
        data = read_plain(path, MAX_ENTRY)
        if data is None:
            return None
        found = unpack(key, data)
        if found is None:
            _remove(path)
        else:
            _touch(path)
        return found

    def put(self, key: str, files: Mapping[str, bytes]) -> None:
        """Keep files; without effect where the folder cannot be written."""
        data = pack(key, files)
        if len(data) > MAX_ENTRY:
            return
        path = self._path(key)
        # A cache that cannot be written is as good as none.
        with suppress(OSError):
            self._prepare(path.parent)
            write_whole(path, data, 0o600)

    def fetch(
        self, key: str, make: Callable[[], Mapping[str, bytes]]
    ) -> tuple[Mapping[str, bytes], bool]:
        """The files of ``key``, made where there are none, and whether there were."""
        found = self.get(key)
        if found is not None:
            return found, True
        with self.building(key):
            found = self.get(key)
            if found is not None:
                return found, True
            files = make()
            self.put(key, files)
        return files, False

    @contextmanager
    def building(self, key: str) -> Generator[None]:
        """Hold the lock of ``key``, so that one process compiles and the others wait.

        Who waits too long goes on without it: entries are right either way.
        """
        # Loaded by who builds, not by who finds.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        lock = None
        try:
            self._prepare(self.folder / "locks")
            lock = FileLock(self.folder / "locks" / f"{key[:2]}.lock")
            lock.acquire(timeout=LOCK_WAIT_S)
        except (OSError, Timeout):
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _shards(self) -> Iterator[Path]:
        """The folders of entries; links are not followed."""
        for folder in _listed(self.folder):
            status = _status(folder)
            named = _SHARD.fullmatch(folder.name)
            if named and status is not None and stat.S_ISDIR(status.st_mode):
                yield folder

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Entries and drafts, with what is known of them."""
        for shard in self._shards():
            for path in _listed(shard):
                status = _status(path)
                # Another process may have removed it by now.
                if status is not None and SUFFIX in path.name:
                    yield path, status

    def entries(self) -> Iterator[Path]:
        """The files of all entries."""
        for path, _ in self._files():
            if path.suffix == SUFFIX and _KEY.fullmatch(path.stem):
                yield path

    def info(self) -> CacheInfo:
        """How much there is, and whether more can be kept."""
        found = [_status(path) for path in self.entries()]
        sizes = [status.st_size for status in found if status is not None]
        return CacheInfo(self.folder, len(sizes), sum(sizes), self._is_writable())

    def _is_writable(self) -> bool:
        try:
            self._prepare(self.folder / "locks")
            probe = write_whole(self.folder / "locks" / "probe", b"", 0o600)
        except OSError:
            return False
        _remove(probe)
        return True

    def clear(self) -> int:
        """Remove all entries; how many there were."""
        found = set(self.entries())
        removed = [path for path, _ in self._files() if _remove(path)]
        return len(found.intersection(removed))

    def prune(self, keep_bytes: int) -> int:
        """Remove the entries used longest ago, until ``keep_bytes`` are left."""
        entries = set(self.entries())
        rows = sorted(self._files(), key=lambda row: row[1].st_mtime_ns, reverse=True)
        total = removed = 0
        for path, status in rows:
            if path in entries:
                total += status.st_size
                removed += total > keep_bytes and _remove(path)
            elif time.time() - status.st_mtime >= DRAFT_AGE_S:
                # Left behind by a writer that was killed.
                _remove(path)
        return removed

    def export(self, key: str, folder: Path) -> list[Path]:
        """Write the files of an entry into a folder.

        Raises:
            UserError: WV0801 where there is no such entry.
            OSError: where the folder cannot be written.
        """
        found = self.get(key) if _KEY.fullmatch(key) else None
        if found is None:
            raise user_error(
                "WV0801",
                f"the cache has no entry `{key}`",
                help="`wave cache info --json` lists the keys",
            )
        return write_all(folder, found)

    def _path(self, key: str) -> Path:
        assert _KEY.fullmatch(key), "keys are digests"
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def _prepare(self, folder: Path) -> None:
        """Make a folder that nobody else can write to.

        Raises:
            OSError: where it is a link, or somebody else's.
        """
        for each in (self.folder, folder):
            each.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            status = each.lstat()
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(each)
            if sys.platform != "win32":
                if status.st_uid != os.getuid():
                    raise PermissionError(each)
                if stat.S_IMODE(status.st_mode) & 0o077:
                    each.chmod(PRIVATE)


def _listed(folder: Path) -> list[Path]:
    """The entries of a folder, in order; none where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _touch(path: Path) -> None:
    """Note that an entry was used; exact enough for `DiskCache.prune`."""
    with suppress(OSError):
        if time.time() - path.lstat().st_mtime > USED_S:
            os.utime(path, follow_symlinks=False)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True

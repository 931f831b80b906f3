"""Reading and writing files that other processes, or attackers, may touch as well."""

from __future__ import annotations

import os
import re
import stat
import sys
from typing import TYPE_CHECKING

from wave_runtime.artifact import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._$-]{0,199}")

_BINARY = getattr(os, "O_BINARY", 0)
_NO_SURPRISES = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file in the folder at hand, on any platform."""
    return _NAME.fullmatch(name) is not None


def read_plain(path: Path, limit: int) -> bytes | None:
    """The bytes of a plain file of the user's own, of at most ``limit`` bytes.

    Anything else counts as missing: links, devices, pipes, files of others.
    """
    try:
        if not is_plain(path.lstat(), limit):
            # Opening a device can have effects.
            return None
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_SURPRISES)
        with os.fdopen(handle, "rb") as file:
            # It may have been exchanged since.
            status = os.fstat(file.fileno())
            return file.read(limit) if is_plain(status, limit) else None
    except OSError:
        return None


def is_plain(status: os.stat_result, limit: int) -> bool:
    """Whether a file is a plain one of the user's own, and not too large."""
    mine = sys.platform == "win32" or status.st_uid == os.getuid()
    return mine and stat.S_ISREG(status.st_mode) and status.st_size <= limit


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, made if need be, and nowhere else; their paths.

    Raises:
        OSError: where one cannot be written, or has a name with a path in it.
    """
    for name in files:
        if not is_file_name(name):
            message = f"{name!r} is no name of a file"
            raise PermissionError(message)
    folder.mkdir(parents=True, exist_ok=True)
    return [write_whole(folder / name, data) for name, data in files.items()]

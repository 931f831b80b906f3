"""The state of source code that may change without its version doing so.

The version of a released package says what its code does. A checkout that is worked on
keeps its version, so what was compiled with it is found again only while its files
are the same.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.plugin.discover import LoadedPlugin

_RELEASED = frozenset({"site-packages", "dist-packages"})


def sources_of(plugins: Iterable[LoadedPlugin]) -> Mapping[str, str] | None:
    """Digests of the sources of plugins that are no releases, by package.

    ``None`` where a plugin belongs to no distribution: what it does today says
    nothing about tomorrow.
    """
    found: dict[str, str] = {}
    for plugin in plugins:
        if not plugin.info.distribution:
            return None
        name = str(getattr(plugin.module, "__name__", "")).partition(".")[0]
        folder = _folder(name)
        if folder is not None:
            found[name] = stamp(folder)
    return found


def _folder(package: str) -> Path | None:
    """Where the files of a package are, if they are those of a checkout."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None or _RELEASED.intersection(Path(file).parts):
        return None
    return Path(file).parent


@cache
def stamp(folder: Path) -> str:
    """A digest of the names, sizes and times of the Python files in a folder.

    Taken once: a running process has imported what was there then.
    """
    rows: list[tuple[str, int, int]] = []
    for path in sorted(folder.rglob("*.py")):
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        rows.append((name, status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(rows).encode()).hexdigest()

"""Configuration of a session, read from the environment and checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from wave_core.diagnostics import user_error
from wave_core.plugin.discover import disabled_names

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE = "WAVE_CACHE"
CACHE_DIR = "WAVE_CACHE_DIR"

_SWITCH = {"": True, "on": True, "off": False}


@dataclass(frozen=True)
class Config:
    """Settings from the environment.

    Attributes:
        cache: Whether compiled kernels are kept: ``WAVE_CACHE=on`` or ``off``.
        cache_dir: Where files are kept: ``WAVE_CACHE_DIR``; ``None`` is the folder
            for caches of the platform.
        disabled_plugins: Plugins not to load: ``WAVE_DISABLE_PLUGINS``, by commas.
    """

    cache: bool = True
    cache_dir: Path | None = None
    disabled_plugins: tuple[str, ...] = ()

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the variables.

        Raises:
            UserError: WV0825 for a value that cannot be understood.
        """
        return cls(_switch(environ), _folder(environ), disabled_names(environ))


def _switch(environ: Mapping[str, str]) -> bool:
    given = environ.get(CACHE, "").strip().lower()
    if given not in _SWITCH:
        raise _unfit(CACHE, environ[CACHE], f"{CACHE}=off, or {CACHE}=on")
    return _SWITCH[given]


def _folder(environ: Mapping[str, str]) -> Path | None:
    given = environ.get(CACHE_DIR, "")
    if not given:
        return None
    try:
        folder = Path(given).expanduser()
        there = next(each for each in (folder, *folder.parents) if each.exists())
    except (OSError, RuntimeError, ValueError) as error:
        raise _unfit(CACHE_DIR, given, f"a folder; this: {error}") from None
    if not folder.is_absolute():
        raise _unfit(CACHE_DIR, given, "an absolute path")
    if not there.is_dir():
        raise _unfit(CACHE_DIR, given, f"a folder; `{there}` is a file")
    if there != folder and not os.access(there, os.W_OK | os.X_OK):
        raise _unfit(CACHE_DIR, given, f"a folder; `{there}` lets nobody make it")
    return folder


def _unfit(variable: str, value: str, wanted: str) -> Exception:
    return user_error(
        "WV0825",
        f"environment variable {variable} is `{value}`",
        help=f"set {wanted}",
    )

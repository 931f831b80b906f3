"""Devices and the cache of kernels, as ``wave doctor`` lists them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from wave_core.cli.load import open_session
from wave_core.compile.cache import DiskCache
from wave_core.diagnostics import WaveError

if TYPE_CHECKING:
    from collections.abc import Iterator

Check = tuple[str, str, str]
"""A row: the subject, its state (ok, missing, broken), the finding."""

MEBIBYTE = 1 << 20


def device_checks() -> Iterator[Check]:
    """The devices that compiled kernels can be launched on, and why not."""
    if find_spec("wave_runtime") is None:
        yield "devices", "missing", "wave-runtime is not installed"
        return
    # Core works without it.
    runtime: Any = import_module("wave_runtime")
    for name in runtime.device_names():
        yield _device(runtime, name)


def _device(runtime: Any, name: str) -> Check:
    try:
        device = runtime.open_device(name)
        found = _described(name, device, runtime.cards_of(device))
    except runtime.RuntimeFailure as error:
        return f"device: {name}", "missing", str(error)
    except ImportError as error:
        return f"device: {name}", "broken", str(error)
    return f"device: {name}", "ok", found


def _described(name: str, device: Any, cards: tuple[str, ...]) -> str:
    if not cards:
        return f"runs {device.architecture or 'any architecture'}"
    return ", ".join(f"{name}:{place} is {card}" for place, card in enumerate(cards))


def cache_check() -> Check:
    """Where compiled kernels are kept."""
    try:
        config = open_session().config
    except WaveError as error:
        return "cache", "broken", error.diagnostics[0].message
    info = DiskCache.of(config).info()
    size = f"{info.entries} entries, {info.total_bytes / MEBIBYTE:.1f} MiB"
    if not config.cache:
        return "cache", "ok", f"{info.folder}: {size}; switched off by WAVE_CACHE"
    if not info.writable:
        return "cache", "missing", f"{info.folder}: cannot be written, nothing is kept"
    return "cache", "ok", f"{info.folder}: {size}, writable"

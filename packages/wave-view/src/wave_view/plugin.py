"""The plugin: ``wave view``. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable

from wave_core.plugin import CommandSpec, hookimpl

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_commands() -> Iterable[CommandSpec]:
    """``wave view KERNEL`` writes a kernel as one page."""
    yield CommandSpec("view", "wave_view.cli:view", "show a kernel as one page of HTML")

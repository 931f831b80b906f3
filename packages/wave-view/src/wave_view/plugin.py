"""The plugin: ``wave view`` and its like, and kernels in notebooks.

Imports nothing expensive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import CommandSpec, DisplaySpec, hookimpl
from wave_view.codes_compare import COMPARE_CODES
from wave_view.codes_trace import TRACE_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 8)


@hookimpl
def wave_register_commands() -> Iterable[CommandSpec]:
    """A kernel as one page, what a GPU recorded of it, and two codes side by side."""
    yield CommandSpec("view", "wave_view.cli:view", "show a kernel as one page of HTML")
    yield CommandSpec(
        "trace",
        "wave_view.trace_command:trace",
        "record a kernel on a GPU and show it",
    )
    yield CommandSpec(
        "compare-asm",
        "wave_view.compare_command:compare_asm",
        "show machine code side by side, by source line",
    )


@hookimpl
def wave_register_displays() -> Iterable[DisplaySpec]:
    """A kernel that is the value of a cell is shown with its page."""
    yield DisplaySpec("views", "wave_view.notebook:framed", "all views, in a frame")


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Diagnostics of recorded traces and of code objects."""
    return (*TRACE_CODES, *COMPARE_CODES)

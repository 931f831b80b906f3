"""The plugin: what was measured, ``wave tune`` and ``wave bench``.

Imports nothing expensive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import ChooserSpec, CommandSpec, hookimpl
from wave_tune.codes_tune import TUNE_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 7)


@hookimpl
def wave_register_choosers() -> Iterable[ChooserSpec]:
    """``tuned``: what was measured of a kernel, which ``auto`` asks for first."""
    yield ChooserSpec(
        "tuned",
        "wave_tune.recall:recall",
        "the best way that `wave tune` has measured",
        before="auto",
    )


@hookimpl
def wave_register_commands() -> Iterable[CommandSpec]:
    """``wave tune`` finds the best way, ``wave bench`` shows how fast it is."""
    yield CommandSpec(
        "tune",
        "wave_tune.command:tune_kernel",
        "measure ways to compile a kernel and keep the best",
    )
    yield CommandSpec(
        "bench",
        "wave_tune.bench_command:bench_kernel",
        "measure a kernel over sizes, beside the roofline and others",
    )


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Diagnostics of tuning."""
    return TUNE_CODES

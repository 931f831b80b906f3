"""The plugin: ``wave emulate``, views of machine code. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable

from wave_core.plugin import CommandSpec, ViewSpec, hookimpl

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_commands() -> Iterable[CommandSpec]:
    """``wave emulate FILE.hsaco`` executes a code object on the CPU."""
    return (
        CommandSpec(
            "emulate",
            "wave_emulator_amdgcn.cli:emulate_file",
            "execute an AMDGCN code object on the CPU",
        ),
    )


@hookimpl
def wave_register_views() -> Iterable[ViewSpec]:
    """``wave inspect KERNEL --what cycles`` estimates what machine code costs."""
    yield ViewSpec(
        "cycles",
        "wave_emulator_amdgcn.views:cycles",
        "hsaco",
        "cycles, utilisation and stalls of the machine code",
        {"debug_lines": True},
    )
    yield ViewSpec(
        "lines",
        "wave_emulator_amdgcn.views:lines",
        "hsaco",
        "instructions, registers and cycles of the machine code, by source line",
        {"debug_lines": True},
    )

"""Core as plugin number one: its ops, passes, targets, presets and codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends.options import BACKEND_OPTIONS
from wave_core.builtin.pipeline import CORE_PASSES
from wave_core.diagnostics import catalogue
from wave_core.passes.selection import Preset
from wave_core.plugin.api import API_VERSION, CORE, hookimpl
from wave_core.plugin.results import OpSet, OptionSpec, TargetSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code
    from wave_core.passes.spec import PassSpec

REQUIRES_API = API_VERSION

PACKAGE = "wave-core"


@hookimpl
def wave_register_passes() -> Iterable[PassSpec]:
    """Core's passes."""
    return CORE_PASSES


@hookimpl
def wave_register_ops() -> Iterable[OpSet]:
    """Core's ops."""
    yield OpSet("wave_core.ops.builtin:builtin_ops", "the ops of the language")


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """The codes that core raises, and those that several plugins raise."""
    return catalogue().values()


@hookimpl
def wave_register_targets() -> Iterable[TargetSpec]:
    """The targets that need no backend."""
    summary = "any GPU, 64 lanes"
    yield TargetSpec("generic", "wave_core.targets:generic_target", summary)
    summary = "waves of 128 lanes, 32 of which run in step"
    yield TargetSpec("generic128", "wave_core.targets:generic128_target", summary)


@hookimpl
def wave_register_presets() -> Iterable[Preset]:
    """Configurations that need no other package."""
    yield Preset("default", "the passes of all plugins, unless they are off by default")
    yield Preset("auto", "what a chooser finds best for the kernel; or else `default`")
    yield Preset("naive", "core's passes alone: correct, not fast", only=(CORE,))


@hookimpl
def wave_register_options() -> Iterable[OptionSpec]:
    """What every backend is told; `WaveCompileOptions` has the others of core."""
    for name, kind, default, help_text in BACKEND_OPTIONS:
        least = 1 if kind is int else None
        yield OptionSpec(name, kind, default, PACKAGE, help_text, least)

"""Compiling kernels: options, sessions, `wave_compile`, checked launch.

Names are loaded when they are first used: options and sessions need neither torch nor
numpy, which compiling and launching do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.compile.alternatives import fastest as fastest
    from wave_core.compile.check_case import run_case as run_case
    from wave_core.compile.compiled import Timings as Timings
    from wave_core.compile.compiler import wave_compile as wave_compile
    from wave_core.compile.config import Config as Config
    from wave_core.compile.kernel import WaveKernel as WaveKernel
    from wave_core.compile.kernels import KernelCase as KernelCase
    from wave_core.compile.launch.signature import (
        Parameter as Parameter,
        Signature as Signature,
    )
    from wave_core.compile.options import (
        WaveCompileOptions as WaveCompileOptions,
        option_table as option_table,
        set_default_run_config as set_default_run_config,
    )
    from wave_core.compile.scheduling import SchedulingType as SchedulingType
    from wave_core.compile.session import (
        Session as Session,
        default_session as default_session,
    )


_MODULES = {
    "Config": "config",
    "KernelCase": "kernels",
    "Parameter": "launch.signature",
    "SchedulingType": "scheduling",
    "Session": "session",
    "Signature": "launch.signature",
    "Timings": "compiled",
    "WaveCompileOptions": "options",
    "WaveKernel": "kernel",
    "default_session": "session",
    "fastest": "alternatives",
    "option_table": "options",
    "run_case": "check_case",
    "set_default_run_config": "options",
    "wave_compile": "compiler",
}


def __getattr__(name: str) -> object:
    """Load the module that has ``name``."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

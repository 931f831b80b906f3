"""Messages to users: locations, coded diagnostics, errors and their rendering."""

from __future__ import annotations

from wave_core.diagnostics.arguments import coded_arguments, coded_init
from wave_core.diagnostics.code import Code, read_codes
from wave_core.diagnostics.codes import catalogue, declaring_package
from wave_core.diagnostics.collector import Collector
from wave_core.diagnostics.diagnostic import Diagnostic, Label, Severity
from wave_core.diagnostics.errors import (
    internal_error,
    launch_error,
    make_diagnostic,
    plugin_error,
    simulation_error,
    user_error,
)
from wave_core.diagnostics.exception_types import (
    InternalError,
    LaunchError,
    PluginError,
    SimulationError,
    UserError,
    WaveError,
)
from wave_core.diagnostics.explain import explain
from wave_core.diagnostics.location import (
    FusedLocation,
    Location,
    capture_location,
    fuse,
)
from wave_core.diagnostics.render import render

__all__ = [
    "Code",
    "Collector",
    "Diagnostic",
    "FusedLocation",
    "InternalError",
    "Label",
    "LaunchError",
    "Location",
    "PluginError",
    "Severity",
    "SimulationError",
    "UserError",
    "WaveError",
    "capture_location",
    "catalogue",
    "coded_arguments",
    "coded_init",
    "declaring_package",
    "explain",
    "fuse",
    "internal_error",
    "launch_error",
    "make_diagnostic",
    "plugin_error",
    "read_codes",
    "render",
    "simulation_error",
    "user_error",
]

"""Messages to users: locations, coded diagnostics, errors and their rendering."""

from __future__ import annotations

from wave_core.diagnostics.code import Code
from wave_core.diagnostics.codes import Catalogue
from wave_core.diagnostics.codes import catalogue
from wave_core.diagnostics.collector import Collector
from wave_core.diagnostics.diagnostic import Diagnostic
from wave_core.diagnostics.diagnostic import Label
from wave_core.diagnostics.diagnostic import Severity
from wave_core.diagnostics.errors import internal_error
from wave_core.diagnostics.errors import launch_error
from wave_core.diagnostics.errors import make_diagnostic
from wave_core.diagnostics.errors import plugin_error
from wave_core.diagnostics.errors import simulation_error
from wave_core.diagnostics.errors import user_error
from wave_core.diagnostics.exception_types import InternalError
from wave_core.diagnostics.exception_types import LaunchError
from wave_core.diagnostics.exception_types import PluginError
from wave_core.diagnostics.exception_types import SimulationError
from wave_core.diagnostics.exception_types import UserError
from wave_core.diagnostics.exception_types import WaveError
from wave_core.diagnostics.explain import explain
from wave_core.diagnostics.location import FusedLocation
from wave_core.diagnostics.location import Location
from wave_core.diagnostics.location import capture_location
from wave_core.diagnostics.location import fuse
from wave_core.diagnostics.render import render
from wave_core.diagnostics.render import render_all
from wave_core.diagnostics.render import render_json

__all__ = [
    "Catalogue",
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
    "explain",
    "fuse",
    "internal_error",
    "launch_error",
    "make_diagnostic",
    "plugin_error",
    "render",
    "render_all",
    "render_json",
    "simulation_error",
    "user_error",
]

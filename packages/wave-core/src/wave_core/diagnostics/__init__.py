"""Messages to users: locations, coded diagnostics, errors and their rendering."""

from __future__ import annotations

from wave_core.diagnostics.arguments import (
    coded_arguments as coded_arguments,
    coded_init as coded_init,
)
from wave_core.diagnostics.code import Code as Code, read_codes as read_codes
from wave_core.diagnostics.codes import (
    catalogue as catalogue,
    declaring_package as declaring_package,
)
from wave_core.diagnostics.collector import Collector as Collector
from wave_core.diagnostics.diagnostic import (
    Diagnostic as Diagnostic,
    Label as Label,
    Severity as Severity,
)
from wave_core.diagnostics.errors import (
    blamed_on_plugin as blamed_on_plugin,
    internal_error as internal_error,
    launch_error as launch_error,
    make_diagnostic as make_diagnostic,
    plugin_error as plugin_error,
    simulation_error as simulation_error,
    user_error as user_error,
)
from wave_core.diagnostics.exception_types import (
    InternalError as InternalError,
    LaunchError as LaunchError,
    PluginError as PluginError,
    SimulationError as SimulationError,
    UserError as UserError,
    WaveError as WaveError,
)
from wave_core.diagnostics.explain import explain as explain
from wave_core.diagnostics.location import (
    Location as Location,
    capture_location as capture_location,
    fuse as fuse,
)

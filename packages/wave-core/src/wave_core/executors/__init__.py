"""Executors: what runs a lowered kernel."""

from __future__ import annotations

from wave_core.executors.request import (
    LaunchRequest as LaunchRequest,
    LaunchSettings as LaunchSettings,
    host_array as host_array,
)
from wave_core.executors.snapshot import Snapshot as Snapshot
from wave_core.executors.spec import (
    Executor as Executor,
    ExecutorSpec as ExecutorSpec,
    PlacesArrays as PlacesArrays,
    RepeatsLaunches as RepeatsLaunches,
)

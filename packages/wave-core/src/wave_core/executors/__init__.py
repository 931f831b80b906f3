"""Executors: what runs a lowered kernel."""

from __future__ import annotations

from wave_core.executors.request import LaunchRequest, LaunchSettings, host_array
from wave_core.executors.spec import Executor, ExecutorSpec, PlacesArrays

__all__ = [
    "Executor",
    "ExecutorSpec",
    "LaunchRequest",
    "LaunchSettings",
    "PlacesArrays",
    "host_array",
]

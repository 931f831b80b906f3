"""Executors: what runs a lowered kernel."""

from __future__ import annotations

from wave_core.executors.spec import Executor
from wave_core.executors.spec import ExecutorSpec

__all__ = ["Executor", "ExecutorSpec"]

"""The simulators do what executors have to do."""

from __future__ import annotations

from wave_testing.conformance import ExecutorConformance


class TestLanes(ExecutorConformance):
    device = "sim"


class TestTiles(ExecutorConformance):
    device = "sim-logical"

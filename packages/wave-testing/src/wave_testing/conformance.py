"""Tests that every pass, op and executor has to survive: inherit and name yours.

::

    from wave_testing.conformance import PassConformance

    class TestFoldDoubleNegation(PassConformance):
        pass_name = "fold-double-negation"

The classes are collected through their subclasses only. New tests come in minor
releases, never in patch releases.
"""

from __future__ import annotations

from wave_testing.executor_conformance import ExecutorConformance
from wave_testing.op_conformance import OpConformance, OpExample
from wave_testing.pass_conformance import PassConformance

__all__ = ["ExecutorConformance", "OpConformance", "OpExample", "PassConformance"]

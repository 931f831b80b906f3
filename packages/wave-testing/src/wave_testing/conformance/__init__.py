"""Test classes that say what a pass, an op or an executor of a plugin has to do.

Derive a class whose name starts with ``Test`` and say what is tried::

    from wave_testing.conformance import PassConformance

    class TestFoldDoubleNegation(PassConformance):
        pass_name = "fold-double-negation"

pytest collects the inherited tests. The plugin is found by its entry point, or
given by ``plugins``.
"""

from __future__ import annotations

from wave_testing.conformance.executors import ExecutorConformance
from wave_testing.conformance.operations import OpConformance
from wave_testing.conformance.passes import PassConformance

__all__ = ["ExecutorConformance", "OpConformance", "PassConformance"]

"""Core's passes do what their declarations say."""

from __future__ import annotations

from wave_testing.conformance import PassConformance


class TestNumberLoops(PassConformance):
    pass_name = "number-loops"
    idempotent = False


class TestMergeCommonSubexpressions(PassConformance):
    pass_name = "merge-common-subexpressions"


class TestEliminateDeadCode(PassConformance):
    pass_name = "eliminate-dead-code"


class TestAssignLayouts(PassConformance):
    pass_name = "assign-layouts"
    idempotent = False


class TestExpandTiles(PassConformance):
    pass_name = "expand-tiles"
    idempotent = False


class TestDecomposeReductions(PassConformance):
    pass_name = "decompose-reductions"


class TestInsertSafeBarriers(PassConformance):
    pass_name = "insert-safe-barriers"


class TestCheckLdsBudget(PassConformance):
    pass_name = "check-lds-budget"

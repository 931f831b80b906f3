"""Every pass alone: rules of the IR, determinism, meaning before and after."""

from __future__ import annotations

from typing import ClassVar

import asking
import numpy as np
import pytest

from wave_core.compile import Session
from wave_core.passes import Amendment
from wave_core.passes import PassObserver
from wave_core.passes import Pipeline
from wave_core.passes import Verify
from wave_testing.pass_conformance import Around
from wave_testing.pass_conformance import PassConformance
from wave_testing.programs import Discarded
from wave_testing.programs import check_program
from wave_testing.programs import random_program

PASSES = (
    "pack-matrix-operands",
    "transpose-in-threads",
    "use-transposed-reads",
    "minimize-global-loads",
    "turn-matrix-results",
    "settle-access-masks",
    "merge-contiguous-reads",
    "merge-contiguous-writes",
    "choose-lds-layouts",
)
STAGING = "ask-for-staging,promote-shared"


class Watch(PassObserver):
    """Takes copies around one pass."""

    def __init__(self, name):
        self.name = name
        self.before = self.after = None
        self.changed = False

    def before_pass(self, step, graph, context):
        if step.pass_name() == self.name:
            self.before = graph.clone()

    def after_pass(self, step, graph, context, *, changed):
        if step.pass_name() == self.name:
            self.after, self.changed = graph.clone(), changed


class StagedConformance(PassConformance):
    """The pass beside the staging of all arguments."""

    plugins: ClassVar = {"asking": asking}

    def run_around(self, session, execution):
        watch = Watch(self.pass_name)
        texts = dict.fromkeys((*STAGING.split(","), self.pass_name))
        amendment = Amendment.of_text(Pipeline.parse(",".join(texts)))
        lowered = execution.lower(
            session, (watch,), verify=Verify.NEVER, amendment=amendment
        )
        if watch.after is None:
            return Around(lowered, lowered, changed=False, lowered=lowered)
        return Around(watch.before, watch.after, watch.changed, lowered)


class TestPromoteShared(StagedConformance):
    pass_name = "promote-shared"


class TestPackMatrixOperands(StagedConformance):
    pass_name = "pack-matrix-operands"


class TestMinimizeGlobalLoads(StagedConformance):
    pass_name = "minimize-global-loads"


class TestTransposeInThreads(StagedConformance):
    pass_name = "transpose-in-threads"


class TestUseTransposedReads(StagedConformance):
    pass_name = "use-transposed-reads"


class TestMergeContiguousReads(StagedConformance):
    pass_name = "merge-contiguous-reads"


class TestTurnMatrixResults(StagedConformance):
    pass_name = "turn-matrix-results"


class TestSettleAccessMasks(StagedConformance):
    pass_name = "settle-access-masks"


class TestMergeContiguousWrites(StagedConformance):
    pass_name = "merge-contiguous-writes"


class TestChooseLdsLayouts(StagedConformance):
    pass_name = "choose-lds-layouts"


@pytest.fixture(scope="module")
def session():
    return Session({"asking": asking})


REFUSALS = {"WV0309", "WV0321", "WV0406", "WV0412"}


def check(session, seeds, passes):
    """Check random programs whose arguments are all staged."""
    for seed in seeds:
        program = random_program(np.random.default_rng(seed), seed)
        code = None
        try:
            check_program(program, session=session, passes=f"{STAGING},{passes}")
        except Discarded as refused:
            code = refused.code
        assert code is None or code in REFUSALS


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_random_programs_are_right(session, first):
    check(session, range(first, first + 8), ",".join(PASSES))


@pytest.mark.parametrize("name", PASSES)
def test_random_programs_are_right_with_one_pass(session, name):
    check(session, range(100, 105), name)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1000, 50))
@pytest.mark.parametrize("passes", [*PASSES, ",".join(PASSES)])
def test_a_thousand_programs_are_right(session, first, passes):
    check(session, range(first, first + 50), passes)

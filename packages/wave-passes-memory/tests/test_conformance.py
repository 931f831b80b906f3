"""Every pass alone: rules of the IR, determinism, meaning before and after."""

from __future__ import annotations

from typing import ClassVar

from wave_core.passes import Amendment, PassObserver, Pipeline, Verify
from wave_testing import staging
from wave_testing.pass_conformance import Around, PassConformance

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

    plugins: ClassVar = {"staging": staging}

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


class TestChainMatrixProducts(StagedConformance):
    pass_name = "chain-matrix-products"


class TestSwapMatrixOperands(StagedConformance):
    pass_name = "swap-matrix-operands"


class TestSettleAccessMasks(StagedConformance):
    pass_name = "settle-access-masks"


class TestMergeContiguousWrites(StagedConformance):
    pass_name = "merge-contiguous-writes"


class TestChooseLdsLayouts(StagedConformance):
    pass_name = "choose-lds-layouts"

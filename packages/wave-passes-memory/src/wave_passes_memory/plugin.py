"""The plugin: passes. Imports nothing expensive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import Analysis, Fact, PassSpec, Phase, ViewSpec, hookimpl
from wave_passes_memory.codes_memory import MEMORY_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 1)
_HERE = "wave_passes_memory"


@hookimpl
def wave_register_passes() -> Iterable[PassSpec]:
    """From the staging of arguments to the barriers around buffers."""
    yield from _of_operands()
    yield from _of_accesses()
    yield from _of_buffers()


def _of_operands() -> Iterable[PassSpec]:
    yield PassSpec(
        "promote-shared",
        Phase.PLACE,
        f"{_HERE}.staging.promote:PromoteShared",
        requires={Fact.TYPED},
        provides={Fact.PLACED},
        replaces=("read-without-staging",),
        summary="arguments that ask for staging are copied to LDS",
    )
    yield PassSpec(
        "swap-matrix-operands",
        Phase.DISTRIBUTE,
        f"{_HERE}.accesses.swap_matrix_operands:SwapMatrixOperands",
        before=("assign-layouts",),
        requires={Fact.TYPED},
        summary="lanes hold neighbours along what results are stored along",
    )
    yield PassSpec(
        "pack-matrix-operands",
        Phase.DISTRIBUTE,
        f"{_HERE}.accesses.pack:PackMatrixOperands",
        after=("assign-layouts",),
        requires={Fact.INDEXED},
        summary="what a lane multiplies lies side by side in memory",
    )


def _of_accesses() -> Iterable[PassSpec]:
    yield PassSpec(
        "minimize-global-loads",
        Phase.OPTIMIZE,
        f"{_HERE}.copies.minimize:MinimizeGlobalLoads",
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="all threads share the copies of tiles to LDS",
    )
    yield PassSpec(
        "transpose-in-threads",
        Phase.OPTIMIZE,
        f"{_HERE}.transposes.threads:TransposeInThreads",
        before=("minimize-global-loads?",),
        after=("share-common-reads?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="tiles are stored in LDS the way they are read",
    )
    yield PassSpec(
        "use-transposed-reads",
        Phase.OPTIMIZE,
        f"{_HERE}.transposes.hardware:UseTransposedReads",
        after=("minimize-global-loads?", "merge-contiguous-reads?"),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="the target transposes what LDS has the other way",
    )
    yield PassSpec(
        "settle-access-masks",
        Phase.OPTIMIZE,
        f"{_HERE}.accesses.settle_masks:SettleAccessMasks",
        after=("minimize-global-loads?",),
        before=("merge-contiguous-reads?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="neighbouring elements exist together",
    )
    yield PassSpec(
        "merge-contiguous-reads",
        Phase.OPTIMIZE,
        f"{_HERE}.accesses.merge:MergeContiguousReads",
        after=("minimize-global-loads",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="neighbouring elements are read at once",
    )
    yield PassSpec(
        "copy-direct-to-lds",
        Phase.LEGALIZE,
        f"{_HERE}.dma.copy:CopyDirectToLds",
        after=("split-accesses",),
        before=("choose-lds-layouts?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="tiles go to LDS without passing through registers",
    )
    yield PassSpec(
        "merge-contiguous-writes",
        Phase.LEGALIZE,
        f"{_HERE}.accesses.stores:MergeContiguousWrites",
        after=("split-accesses",),
        before=("choose-lds-layouts?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="neighbouring elements are written at once",
    )


def _of_buffers() -> Iterable[PassSpec]:
    yield PassSpec(
        "choose-lds-layouts",
        Phase.LEGALIZE,
        f"{_HERE}.layouts.choose:ChooseLdsLayouts",
        after=("split-accesses",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="buffers laid out by counting bank conflicts",
    )
    yield PassSpec(
        "delay-reads",
        Phase.LEGALIZE,
        f"{_HERE}.hoisting.delay:DelayReads",
        after=("split-accesses",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="reads wait behind exchanges where registers are few",
    )
    yield PassSpec(
        "place-minimal-barriers",
        Phase.SYNCHRONIZE,
        f"{_HERE}.barriers.place:PlaceMinimalBarriers",
        requires={Fact.EXPANDED},
        provides={Fact.SYNCHRONIZED},
        replaces=("insert-safe-barriers",),
        summary="the fewest barriers that order LDS accesses",
    )
    yield PassSpec(
        "pack-shared-memory",
        Phase.ALLOCATE,
        f"{_HERE}.packing.pack:PackSharedMemory",
        requires={Fact.EXPANDED},
        provides={Fact.ALLOCATED},
        summary="buffers that are not needed at the same time share LDS",
    )
    yield PassSpec(
        "hoist-loop-invariants",
        Phase.OPTIMIZE,
        f"{_HERE}.hoisting.hoist:HoistLoopInvariants",
        before=("minimize-global-loads?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="what is the same in each iteration of a loop is done once",
    )
    yield PassSpec(
        "share-common-reads",
        Phase.OPTIMIZE,
        f"{_HERE}.hoisting.share:ShareCommonReads",
        after=("hoist-loop-invariants",),
        before=("minimize-global-loads?",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="what is read twice is read once",
    )


@hookimpl
def wave_register_views() -> Iterable[ViewSpec]:
    """``wave inspect --what memory``."""
    yield ViewSpec(
        "memory",
        f"{_HERE}.report.view:memory",
        summary="LDS over time, who writes what, bank conflicts",
    )


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """Diagnostics about memory that only this package raises."""
    return MEMORY_CODES

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


def _on_tiles(
    name: str,
    phase: Phase,
    path: str,
    summary: str,
    *,
    after: tuple[str, ...] = (),
    before: tuple[str, ...] = (),
) -> PassSpec:
    """A pass on expanded tiles that leaves loops and conditions as they are."""
    return PassSpec(
        name,
        phase,
        f"{_HERE}.{path}",
        after=after,
        before=before,
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary=summary,
    )


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
        "chain-matrix-products",
        Phase.DISTRIBUTE,
        f"{_HERE}.accesses.chain_products:ChainMatrixProducts",
        before=("assign-layouts", "swap-matrix-operands?"),
        requires={Fact.TYPED},
        summary="one product's result lies as the next one takes it",
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
    yield PassSpec(
        "fill-sectors",
        Phase.DISTRIBUTE,
        f"{_HERE}.accesses.fill_sectors:FillSectors",
        after=("assign-layouts", "pack-matrix-operands?"),
        requires={Fact.INDEXED},
        summary="lanes exchange results that they would write in short runs",
    )


def _of_accesses() -> Iterable[PassSpec]:
    yield _on_tiles(
        "minimize-global-loads",
        Phase.OPTIMIZE,
        "copies.minimize:MinimizeGlobalLoads",
        "all threads share the copies of tiles to LDS",
        before=("fetch-matrix-operands?",),
    )
    yield _on_tiles(
        "transpose-in-threads",
        Phase.OPTIMIZE,
        "transposes.threads:TransposeInThreads",
        "tiles are stored in LDS the way they are read",
        before=("minimize-global-loads?",),
        after=("share-common-reads?",),
    )
    yield _on_tiles(
        "use-transposed-reads",
        Phase.OPTIMIZE,
        "transposes.hardware:UseTransposedReads",
        "the target transposes what LDS has the other way",
        after=(
            "minimize-global-loads?",
            "merge-contiguous-reads?",
            "fetch-matrix-operands?",
        ),
    )
    yield _on_tiles(
        "settle-access-masks",
        Phase.OPTIMIZE,
        "accesses.settle_masks:SettleAccessMasks",
        "neighbouring elements exist together",
        after=("minimize-global-loads?",),
        before=("merge-contiguous-reads?", "fetch-matrix-operands?"),
    )
    yield _on_tiles(
        "merge-contiguous-reads",
        Phase.OPTIMIZE,
        "accesses.merge:MergeContiguousReads",
        "neighbouring elements are read at once",
        after=("minimize-global-loads", "fetch-matrix-operands?"),
    )
    yield _on_tiles(
        "copy-direct-to-lds",
        Phase.LEGALIZE,
        "dma.copy:CopyDirectToLds",
        "tiles go to LDS without passing through registers",
        after=("split-accesses",),
        before=("choose-lds-layouts?", "order-matrix-operands?"),
    )
    yield _on_tiles(
        "merge-contiguous-writes",
        Phase.LEGALIZE,
        "accesses.stores:MergeContiguousWrites",
        "neighbouring elements are written at once",
        after=("split-accesses",),
        before=("choose-lds-layouts?", "order-matrix-operands?"),
    )


def _of_buffers() -> Iterable[PassSpec]:
    yield _on_tiles(
        "choose-lds-layouts",
        Phase.LEGALIZE,
        "layouts.choose:ChooseLdsLayouts",
        "buffers laid out by counting bank conflicts",
        after=("split-accesses",),
    )
    yield _on_tiles(
        "delay-reads",
        Phase.LEGALIZE,
        "hoisting.delay:DelayReads",
        "reads wait behind exchanges where registers are few",
        after=("split-accesses",),
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
        "count-copy-waits",
        Phase.SYNCHRONIZE,
        f"{_HERE}.barriers.landings:CountCopyWaits",
        after=("place-minimal-barriers", "stagger-waves?"),
        before=("await-products?",),
        requires={Fact.SYNCHRONIZED},
        summary="copies to LDS are waited for when what needs them comes",
    )
    yield PassSpec(
        "pack-shared-memory",
        Phase.ALLOCATE,
        f"{_HERE}.packing.pack:PackSharedMemory",
        requires={Fact.EXPANDED},
        provides={Fact.ALLOCATED},
        summary="buffers that are not needed at the same time share LDS",
    )
    yield _on_tiles(
        "hoist-loop-invariants",
        Phase.OPTIMIZE,
        "hoisting.hoist:HoistLoopInvariants",
        "what is the same in each iteration of a loop is done once",
        before=("minimize-global-loads?",),
    )
    yield _on_tiles(
        "share-common-reads",
        Phase.OPTIMIZE,
        "hoisting.share:ShareCommonReads",
        "what is read twice is read once",
        after=("hoist-loop-invariants",),
        before=("minimize-global-loads?",),
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

"""Core's passes: the naive, correct pipeline. The only place that lists them."""

from __future__ import annotations

from wave_core.passes.fact import Analysis, Fact
from wave_core.passes.phase import Phase
from wave_core.passes.spec import PassSpec

_HERE = "wave_core.builtin"

CORE_PASSES: tuple[PassSpec, ...] = (
    PassSpec(
        "number-loops",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.loops:NumberLoops",
        essential=True,
        summary="induction symbols and trip counts",
    ),
    PassSpec(
        "sink-splats",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.sink:SinkSplats",
        after=("number-loops",),
        summary="constants move to their uses",
    ),
    PassSpec(
        "lower-extracts",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.extract:LowerExtracts",
        after=("number-loops",),
        essential=True,
        summary="element extraction becomes a reduction",
    ),
    PassSpec(
        "lower-gathers",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.gathers:LowerGathers",
        after=("number-loops",),
        essential=True,
        summary="copies of whole tiles become reads and writes",
    ),
    PassSpec(
        "settle-reshapes",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.reshape:SettleReshapes",
        after=("number-loops",),
        essential=True,
        summary="vectors are cut as layouts ask for",
    ),
    PassSpec(
        "merge-common-subexpressions",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.cse:MergeCommonSubexpressions",
        after=("sink-splats", "lower-extracts", "lower-gathers", "settle-reshapes"),
        summary="equal values are computed once",
    ),
    PassSpec(
        "eliminate-dead-code",
        Phase.CANONICALIZE,
        f"{_HERE}.canonicalize.dce:EliminateDeadCode",
        after=("merge-common-subexpressions",),
        provides={Fact.CANONICAL},
        summary="what nothing uses goes",
    ),
    PassSpec(
        "infer-types",
        Phase.INFER,
        f"{_HERE}.infer.types:InferTypes",
        provides={Fact.TYPED},
        essential=True,
        summary="the type of every value",
    ),
    PassSpec(
        "check-scans",
        Phase.INFER,
        f"{_HERE}.infer.scans:CheckScans",
        after=("infer-types",),
        essential=True,
        summary="scans see all that they combine",
    ),
    PassSpec(
        "read-without-staging",
        Phase.PLACE,
        f"{_HERE}.place.staging:ReadWithoutStaging",
        requires={Fact.TYPED},
        summary="arguments that ask for staging are read from global memory",
    ),
    PassSpec(
        "assign-layouts",
        Phase.DISTRIBUTE,
        f"{_HERE}.distribute.assign:AssignLayouts",
        requires={Fact.TYPED},
        provides={Fact.INDEXED},
        essential=True,
        summary="which lane and register holds which element",
    ),
    PassSpec(
        "expand-tiles",
        Phase.EXPAND,
        f"{_HERE}.expand.expand:ExpandTiles",
        requires={Fact.INDEXED},
        provides={Fact.EXPANDED, Fact.BOUNDED},
        essential=True,
        summary="one op for each piece of a tile, masked where elements end",
    ),
    PassSpec(
        "decompose-reductions",
        Phase.LEGALIZE,
        f"{_HERE}.legalize.reductions:DecomposeReductions",
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="registers, then lanes, then waves",
    ),
    PassSpec(
        "split-accesses",
        Phase.LEGALIZE,
        f"{_HERE}.legalize.accesses:SplitAccesses",
        after=("decompose-reductions",),
        requires={Fact.EXPANDED},
        preserves={Analysis.REGION_FACTS},
        summary="one instruction for each contiguous run",
    ),
    PassSpec(
        "insert-safe-barriers",
        Phase.SYNCHRONIZE,
        f"{_HERE}.synchronize.barriers:InsertSafeBarriers",
        requires={Fact.EXPANDED},
        provides={Fact.SYNCHRONIZED},
        essential=True,
        summary="a barrier wherever LDS accesses might meet",
    ),
    PassSpec(
        "check-lds-budget",
        Phase.SYNCHRONIZE,
        f"{_HERE}.synchronize.budget:CheckLdsBudget",
        requires={Fact.EXPANDED},
        summary="buffers fit the machine",
    ),
)

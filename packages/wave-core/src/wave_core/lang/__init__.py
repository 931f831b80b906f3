"""The language of kernel authors, as one flat module.

``import wave_core.lang as tkl`` and ``import wave_core.lang as tkw`` both work. Some
names shadow Python's own (``sum``, ``max``, ``min``, ``abs``, ``round``, ``bool``),
so import the module and not its names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints import (
    Assumption,
    DeviceConstraint,
    GridConstraint,
    HardwareConstraint,
    IteratorBindings,
    ReorderingConstraint,
    SymbolicAlias,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.lang.access import (
    MemoryAccessFlags,
    allocate,
    gather_to_lds,
    read,
    write,
)
from wave_core.lang.kernel import LaunchableWave, wave, wave_trace_only
from wave_core.lang.mapping import IndexMapping
from wave_core.lang.mathematics import (
    abs,  # noqa: A004 - the language's own name
    atan2,
    cast,
    cbrt,
    ceil,
    cos,
    eq,
    exp,
    exp2,
    floor,
    ge,
    gt,
    le,
    log,
    log2,
    log10,
    lt,
    maximum,
    minimum,
    mma,
    mod,
    ne,
    powf,
    reciprocal,
    round,  # noqa: A004 - the language's own name
    roundeven,
    rsqrt,
    select,
    sin,
    sinh,
    softsign,
    sqrt,
    tanh,
    tanh_approx,
)
from wave_core.lang.schedules.change import (
    cluster,
    insert_after,
    insert_at_end,
    insert_at_start,
    insert_before,
    interleave_operations,
    reorder_graph,
    stagger,
    unroll,
)
from wave_core.lang.schedules.decorate import wave_schedule
from wave_core.lang.schedules.pipelines import pipeline
from wave_core.lang.schedules.select import (
    filter_nodes,
    get_node_by_tag,
    get_node_by_tag_and_iteration,
    get_node_by_tag_and_type,
    partition_by_address_space,
    partition_by_dim,
)
from wave_core.lang.shapes import (
    ShuffleMode,
    apply_expr,
    broadcast,
    extract,
    get_result,
    max,  # noqa: A004 - the language's own name
    min,  # noqa: A004 - the language's own name
    permute,
    register,
    reshape,
    scalar,
    self_index,
    set_symbol,
    shuffle,
    sum,  # noqa: A004 - the language's own name
    tag,
)
from wave_core.lang.symbols import (
    DEVICE_DIM_0,
    DEVICE_DIM_1,
    DEVICE_DIM_2,
    WORKGROUP_0,
    WORKGROUP_1,
    WORKGROUP_2,
    WORKGROUP_3,
    WORKGROUP_4,
    index_symbol,
    sym,
)
from wave_core.lang.synchronize import (
    Operation,
    breakpoint_here,
    memory_counter_wait,
    memory_counter_wait_barrier,
    scheduling_barrier,
    scheduling_group_barrier,
    set_wave_prio,
    shared_memory_barrier,
    shared_memory_barrier_signal,
    shared_memory_barrier_wait,
    wave_fence,
    workgroup_barrier,
)
from wave_core.lang.types import (
    GLOBAL_ADDRESS_SPACE,
    GLOBAL_MEMORY,
    SHARED_ADDRESS_SPACE,
    SHARED_MEMORY,
    Memory,
    MemoryLayout,
    Register,
    SymbolBind,
)
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import GatherToLDS, Read, Write
from wave_core.ops.sync import (
    MemoryCounterWait,
    SchedulingBarrier,
    SchedulingGroupBarrier,
    SetWavePrio,
    SharedMemoryBarrier,
    SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait,
    WaveFence,
    WorkgroupBarrier,
)
from wave_core.targets import MMAType
from wave_core.trace import Value, conditional, iterate
from wave_core.types import AddressSpace
from wave_core.types.dtype import (
    bf16,
    bool_,
    f8e4m3fn,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    index,
)

if TYPE_CHECKING:
    from wave_core.compile import WaveCompileOptions, wave_compile

bool = bool_  # noqa: A001 - the language's own name
i1 = bool_
MMA = Mma
reduction = iterate

_COMPILE = ("WaveCompileOptions", "wave_compile")

__all__ = [
    "DEVICE_DIM_0",
    "DEVICE_DIM_1",
    "DEVICE_DIM_2",
    "GLOBAL_ADDRESS_SPACE",
    "GLOBAL_MEMORY",
    "MMA",
    "SHARED_ADDRESS_SPACE",
    "SHARED_MEMORY",
    "WORKGROUP_0",
    "WORKGROUP_1",
    "WORKGROUP_2",
    "WORKGROUP_3",
    "WORKGROUP_4",
    "AddressSpace",
    "Assumption",
    "DeviceConstraint",
    "GatherToLDS",
    "GridConstraint",
    "HardwareConstraint",
    "IndexMapping",
    "Iterate",
    "IteratorBindings",
    "LaunchableWave",
    "MMAType",
    "Memory",
    "MemoryAccessFlags",
    "MemoryCounterWait",
    "MemoryLayout",
    "Operation",
    "Read",
    "Register",
    "ReorderingConstraint",
    "SchedulingBarrier",
    "SchedulingGroupBarrier",
    "SetWavePrio",
    "SharedMemoryBarrier",
    "SharedMemoryBarrierSignal",
    "SharedMemoryBarrierWait",
    "ShuffleMode",
    "SymbolBind",
    "SymbolicAlias",
    "TilingConstraint",
    "Value",
    "WaveCompileOptions",
    "WaveConstraint",
    "WaveFence",
    "WorkgroupBarrier",
    "WorkgroupConstraint",
    "Write",
    "abs",
    "allocate",
    "apply_expr",
    "atan2",
    "bf16",
    "bool",
    "breakpoint_here",
    "broadcast",
    "cast",
    "cbrt",
    "ceil",
    "cluster",
    "conditional",
    "cos",
    "eq",
    "exp",
    "exp2",
    "extract",
    "f8e4m3fn",
    "f8e4m3fnuz",
    "f8e5m2",
    "f8e5m2fnuz",
    "f16",
    "f32",
    "f64",
    "filter_nodes",
    "floor",
    "gather_to_lds",
    "ge",
    "get_node_by_tag",
    "get_node_by_tag_and_iteration",
    "get_node_by_tag_and_type",
    "get_result",
    "gt",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "index_symbol",
    "insert_after",
    "insert_at_end",
    "insert_at_start",
    "insert_before",
    "interleave_operations",
    "iterate",
    "le",
    "log",
    "log2",
    "log10",
    "lt",
    "max",
    "maximum",
    "memory_counter_wait",
    "memory_counter_wait_barrier",
    "min",
    "minimum",
    "mma",
    "mod",
    "ne",
    "partition_by_address_space",
    "partition_by_dim",
    "permute",
    "pipeline",
    "powf",
    "read",
    "reciprocal",
    "reduction",
    "register",
    "reorder_graph",
    "reshape",
    "round",
    "roundeven",
    "rsqrt",
    "scalar",
    "scheduling_barrier",
    "scheduling_group_barrier",
    "select",
    "self_index",
    "set_symbol",
    "set_wave_prio",
    "shared_memory_barrier",
    "shared_memory_barrier_signal",
    "shared_memory_barrier_wait",
    "shuffle",
    "sin",
    "sinh",
    "softsign",
    "sqrt",
    "stagger",
    "sum",
    "sym",
    "tag",
    "tanh",
    "tanh_approx",
    "unroll",
    "wave",
    "wave_compile",
    "wave_fence",
    "wave_schedule",
    "wave_trace_only",
    "workgroup_barrier",
    "write",
]


def __getattr__(name: str) -> object:
    """Loads the compiler on demand; says so where a name is planned or unknown."""
    if name in _COMPILE:
        # The compiler is loaded when a kernel is compiled, not when it is written.
        from wave_core import compile as compiler  # noqa: PLC0415

        return getattr(compiler, name)
    from wave_core.lang.planned import missing  # noqa: PLC0415 - only for errors

    raise missing(__name__, name, __all__)

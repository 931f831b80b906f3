"""The language of kernel authors, as one flat module.

``import wave_core.lang as tkl`` and ``import wave_core.lang as tkw`` both work. Some
names shadow Python's own (``sum``, ``max``, ``min``, ``abs``, ``round``, ``bool``),
so import the module and not its names.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from wave_core.compile.launchable import LaunchableWave as LaunchableWave
from wave_core.constraints import (
    Assumption as Assumption,
    Constraint as Constraint,
    DeviceConstraint as DeviceConstraint,
    DieOrder as DieOrder,
    FastMath as FastMath,
    GridConstraint as GridConstraint,
    HardwareConstraint as HardwareConstraint,
    IteratorBindings as IteratorBindings,
    ReorderingConstraint as ReorderingConstraint,
    SymbolicAlias as SymbolicAlias,
    TilingConstraint as TilingConstraint,
    Tunable as Tunable,
    WaveConstraint as WaveConstraint,
    WorkgroupConstraint as WorkgroupConstraint,
)
from wave_core.lang.access import (
    MemoryAccessFlags as MemoryAccessFlags,
    allocate as allocate,
    gather_to_lds as gather_to_lds,
    read as read,
    write as write,
)
from wave_core.lang.atomic import (
    atomic_add as atomic_add,
    atomic_and as atomic_and,
    atomic_cas as atomic_cas,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    atomic_or as atomic_or,
    atomic_xchg as atomic_xchg,
    atomic_xor as atomic_xor,
    scatter_add as scatter_add,
)
from wave_core.lang.costs import (
    GLOBAL_MEMORY_UNITS as GLOBAL_MEMORY_UNITS,
    GLOBAL_TO_SHARED_DELAY as GLOBAL_TO_SHARED_DELAY,
    MMA_DELAY as MMA_DELAY,
    MMA_UNITS as MMA_UNITS,
    READ_GLOBAL_DELAY as READ_GLOBAL_DELAY,
    READ_SHARED_DELAY as READ_SHARED_DELAY,
    SHARED_MEMORY_UNITS as SHARED_MEMORY_UNITS,
    SHUFFLE_DELAY as SHUFFLE_DELAY,
    SHUFFLE_UNITS as SHUFFLE_UNITS,
    VALU_DELAY as VALU_DELAY,
    VALU_UNITS as VALU_UNITS,
    WRITE_GLOBAL_DELAY as WRITE_GLOBAL_DELAY,
    WRITE_SHARED_DELAY as WRITE_SHARED_DELAY,
)
from wave_core.lang.debug_log import debug_log as debug_log
from wave_core.lang.html_viewer import html_viewer as html_viewer
from wave_core.lang.kernel import (
    thread as thread,
    wave as wave,
    wave_trace_only as wave_trace_only,
)
from wave_core.lang.mapping import IndexMapping as IndexMapping
from wave_core.lang.mathematics import (
    abs as abs,  # noqa: A004 - the language's own name
    atan2 as atan2,
    cast as cast,
    cbrt as cbrt,
    ceil as ceil,
    clamp as clamp,
    cos as cos,
    eq as eq,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    floor as floor,
    ge as ge,
    gelu as gelu,
    gt as gt,
    le as le,
    log as log,
    log2 as log2,
    log10 as log10,
    lt as lt,
    maximum as maximum,
    minimum as minimum,
    mma as mma,
    mod as mod,
    ne as ne,
    powf as powf,
    reciprocal as reciprocal,
    remf as remf,
    round as round,  # noqa: A004 - the language's own name
    roundeven as roundeven,
    rsqrt as rsqrt,
    scaled_mma as scaled_mma,
    select as select,
    sigmoid as sigmoid,
    silu as silu,
    sin as sin,
    sinh as sinh,
    softsign as softsign,
    sqrt as sqrt,
    tanh as tanh,
    tanh_approx as tanh_approx,
    where as where,
)
from wave_core.lang.random import (
    philox as philox,
    rand as rand,
    randint as randint,
    randn as randn,
)
from wave_core.lang.scans import (
    cumsum as cumsum,
    scan as scan,
)
from wave_core.lang.schedules.change import (
    MemoryCounterWaitBarrier as MemoryCounterWaitBarrier,
    cluster as cluster,
    insert_after as insert_after,
    insert_at_end as insert_at_end,
    insert_at_start as insert_at_start,
    insert_before as insert_before,
    interleave_operations as interleave_operations,
    reorder_graph as reorder_graph,
    stagger as stagger,
    unroll as unroll,
)
from wave_core.lang.schedules.decorate import wave_schedule as wave_schedule
from wave_core.lang.schedules.pipelines import pipeline as pipeline
from wave_core.lang.schedules.select import (
    filter_nodes as filter_nodes,
    get_node_by_tag as get_node_by_tag,
    get_node_by_tag_and_iteration as get_node_by_tag_and_iteration,
    get_node_by_tag_and_type as get_node_by_tag_and_type,
    partition_by_address_space as partition_by_address_space,
    partition_by_dim as partition_by_dim,
)
from wave_core.lang.selections import (
    argmax as argmax,
    argmin as argmin,
    sort as sort,
    topk as topk,
)
from wave_core.lang.shapes import (
    ShuffleMode as ShuffleMode,
    apply_expr as apply_expr,
    bitcast as bitcast,
    broadcast as broadcast,
    extract as extract,
    extract_slice as extract_slice,
    get_result as get_result,
    max as max,  # noqa: A004 - the language's own name
    min as min,  # noqa: A004 - the language's own name
    permute as permute,
    register as register,
    reshape as reshape,
    scalar as scalar,
    self_index as self_index,
    set_symbol as set_symbol,
    shuffle as shuffle,
    sum as sum,  # noqa: A004 - the language's own name
    tag as tag,
)
from wave_core.lang.symbols import (
    DEVICE_DIM_0 as DEVICE_DIM_0,
    DEVICE_DIM_1 as DEVICE_DIM_1,
    DEVICE_DIM_2 as DEVICE_DIM_2,
    GET_ITER_ARG as GET_ITER_ARG,
    THREAD_0 as THREAD_0,
    THREAD_1 as THREAD_1,
    THREAD_2 as THREAD_2,
    WORKGROUP_0 as WORKGROUP_0,
    WORKGROUP_1 as WORKGROUP_1,
    WORKGROUP_2 as WORKGROUP_2,
    WORKGROUP_3 as WORKGROUP_3,
    WORKGROUP_4 as WORKGROUP_4,
    IndexExpr as IndexExpr,
    IndexSymbol as IndexSymbol,
    index_symbol as index_symbol,
    sym as sym,
)
from wave_core.lang.synchronize import (
    Operation as Operation,
    breakpoint_here as breakpoint_here,
    fence as fence,
    memory_counter_wait as memory_counter_wait,
    memory_counter_wait_barrier as memory_counter_wait_barrier,
    scheduling_barrier as scheduling_barrier,
    scheduling_group_barrier as scheduling_group_barrier,
    set_wave_prio as set_wave_prio,
    shared_memory_barrier as shared_memory_barrier,
    shared_memory_barrier_signal as shared_memory_barrier_signal,
    shared_memory_barrier_wait as shared_memory_barrier_wait,
    wave_fence as wave_fence,
    workgroup_barrier as workgroup_barrier,
)
from wave_core.lang.threads import (
    load as load,
    num_programs as num_programs,
    num_threads as num_threads,
    program_id as program_id,
    store as store,
    thread_id as thread_id,
)
from wave_core.lang.types import (
    GLOBAL_ADDRESS_SPACE as GLOBAL_ADDRESS_SPACE,
    GLOBAL_MEMORY as GLOBAL_MEMORY,
    SHARED_ADDRESS_SPACE as SHARED_ADDRESS_SPACE,
    SHARED_MEMORY as SHARED_MEMORY,
    Memory as Memory,
    MemoryLayout as MemoryLayout,
    Register as Register,
    SymbolBind as SymbolBind,
)
from wave_core.ops.control import Iterate as Iterate, While as While
from wave_core.ops.matrix import Mma, ScaledMma as ScaledMma
from wave_core.ops.memory import (
    GatherToLDS as GatherToLDS,
    Read as Read,
    Write as Write,
)
from wave_core.ops.sync import (
    MemoryCounterWait as MemoryCounterWait,
    SchedulingBarrier as SchedulingBarrier,
    SchedulingGroupBarrier as SchedulingGroupBarrier,
    SetWavePrio as SetWavePrio,
    SharedMemoryBarrier as SharedMemoryBarrier,
    SharedMemoryBarrierSignal as SharedMemoryBarrierSignal,
    SharedMemoryBarrierWait as SharedMemoryBarrierWait,
    WaveFence as WaveFence,
    WorkgroupBarrier as WorkgroupBarrier,
)
from wave_core.targets import (
    GenericDot as GenericDot,
    MMAOperand as MMAOperand,
    MMAType as MMAType,
    ScaledMMAType as ScaledMMAType,
)
from wave_core.trace import (
    Value as Value,
    conditional as conditional,
    iterate as iterate,
)
from wave_core.types import AddressSpace as AddressSpace, Usage
from wave_core.types.dtype import (
    DType,
    bf16 as bf16,
    bool_,
    f4e2m1fn as f4e2m1fn,
    f6e2m3fn as f6e2m3fn,
    f6e3m2fn as f6e3m2fn,
    f8e4m3fn as f8e4m3fn,
    f8e4m3fnuz as f8e4m3fnuz,
    f8e5m2 as f8e5m2,
    f8e5m2fnuz as f8e5m2fnuz,
    f8e8m0fnu as f8e8m0fnu,
    f16 as f16,
    f32 as f32,
    f64 as f64,
    i4 as i4,
    i8 as i8,
    i16 as i16,
    i32 as i32,
    i64 as i64,
    index as index,
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
)

if TYPE_CHECKING:
    from wave_core.compile import (
        SchedulingType as SchedulingType,
        WaveCompileOptions as WaveCompileOptions,
        set_default_run_config as set_default_run_config,
        wave_compile as wave_compile,
    )

bool = bool_  # noqa: A001 - the language's own name
i1 = bool_
DataType = DType
KernelBufferUsage = Usage
MMA = Mma
reduction = iterate

_COMPILE = (
    "SchedulingType",
    "WaveCompileOptions",
    "set_default_run_config",
    "wave_compile",
)
_PRIVATE = {
    "DType",
    "TYPE_CHECKING",
    "Mma",
    "ModuleType",
    "Usage",
    "annotations",
    "bool_",
}


def __getattr__(name: str) -> object:
    """Loads the compiler on demand; says so where a name is unknown."""
    if name in _COMPILE:
        # The compiler is loaded when a kernel is compiled, not when it is written.
        from wave_core import compile as compiler  # noqa: PLC0415

        return getattr(compiler, name)
    from wave_core.lang.absent import missing  # noqa: PLC0415 - only for errors

    raise missing(name, __dir__())


def __dir__() -> list[str]:
    """The names of the language, without the modules that declare them."""
    found = {name for name, value in globals().items() if type(value) is not ModuleType}
    public = {name for name in found if not name.startswith("_")} - _PRIVATE
    return sorted(public.union(_COMPILE))

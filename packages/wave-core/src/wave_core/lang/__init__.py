"""The language of kernel authors, as one flat module.

``import wave_core.lang as tkl`` and ``import wave_core.lang as tkw`` both work. Some
names shadow Python's own (``sum``, ``max``, ``min``, ``abs``, ``round``, ``bool``),
so import the module and not its names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints import Assumption
from wave_core.constraints import DeviceConstraint
from wave_core.constraints import GridConstraint
from wave_core.constraints import HardwareConstraint
from wave_core.constraints import IteratorBindings
from wave_core.constraints import ReorderingConstraint
from wave_core.constraints import SymbolicAlias
from wave_core.constraints import TilingConstraint
from wave_core.constraints import WaveConstraint
from wave_core.constraints import WorkgroupConstraint
from wave_core.lang.access import MemoryAccessFlags
from wave_core.lang.access import allocate
from wave_core.lang.access import gather_to_lds
from wave_core.lang.access import read
from wave_core.lang.access import write
from wave_core.lang.kernel import LaunchableWave
from wave_core.lang.kernel import wave
from wave_core.lang.kernel import wave_trace_only
from wave_core.lang.mapping import IndexMapping
from wave_core.lang.mathematics import abs  # noqa: A004 - the language's own name
from wave_core.lang.mathematics import atan2
from wave_core.lang.mathematics import cast
from wave_core.lang.mathematics import cbrt
from wave_core.lang.mathematics import ceil
from wave_core.lang.mathematics import cos
from wave_core.lang.mathematics import eq
from wave_core.lang.mathematics import exp
from wave_core.lang.mathematics import exp2
from wave_core.lang.mathematics import floor
from wave_core.lang.mathematics import ge
from wave_core.lang.mathematics import gt
from wave_core.lang.mathematics import le
from wave_core.lang.mathematics import log
from wave_core.lang.mathematics import log2
from wave_core.lang.mathematics import log10
from wave_core.lang.mathematics import lt
from wave_core.lang.mathematics import maximum
from wave_core.lang.mathematics import minimum
from wave_core.lang.mathematics import mma
from wave_core.lang.mathematics import mod
from wave_core.lang.mathematics import ne
from wave_core.lang.mathematics import powf
from wave_core.lang.mathematics import reciprocal
from wave_core.lang.mathematics import round  # noqa: A004 - the language's own name
from wave_core.lang.mathematics import roundeven
from wave_core.lang.mathematics import rsqrt
from wave_core.lang.mathematics import select
from wave_core.lang.mathematics import sin
from wave_core.lang.mathematics import sinh
from wave_core.lang.mathematics import softsign
from wave_core.lang.mathematics import sqrt
from wave_core.lang.mathematics import tanh
from wave_core.lang.mathematics import tanh_approx
from wave_core.lang.schedules import cluster
from wave_core.lang.schedules import filter_nodes
from wave_core.lang.schedules import get_node_by_tag
from wave_core.lang.schedules import get_node_by_tag_and_iteration
from wave_core.lang.schedules import get_node_by_tag_and_type
from wave_core.lang.schedules import insert_after
from wave_core.lang.schedules import insert_at_end
from wave_core.lang.schedules import insert_at_start
from wave_core.lang.schedules import insert_before
from wave_core.lang.schedules import interleave_operations
from wave_core.lang.schedules import partition_by_address_space
from wave_core.lang.schedules import partition_by_dim
from wave_core.lang.schedules import pipeline
from wave_core.lang.schedules import reorder_graph
from wave_core.lang.schedules import stagger
from wave_core.lang.schedules import unroll
from wave_core.lang.schedules import wave_schedule
from wave_core.lang.shapes import ShuffleMode
from wave_core.lang.shapes import apply_expr
from wave_core.lang.shapes import broadcast
from wave_core.lang.shapes import extract
from wave_core.lang.shapes import get_result
from wave_core.lang.shapes import max  # noqa: A004 - the language's own name
from wave_core.lang.shapes import min  # noqa: A004 - the language's own name
from wave_core.lang.shapes import permute
from wave_core.lang.shapes import register
from wave_core.lang.shapes import reshape
from wave_core.lang.shapes import scalar
from wave_core.lang.shapes import self_index
from wave_core.lang.shapes import set_symbol
from wave_core.lang.shapes import shuffle
from wave_core.lang.shapes import sum  # noqa: A004 - the language's own name
from wave_core.lang.shapes import tag
from wave_core.lang.symbols import DEVICE_DIM_0
from wave_core.lang.symbols import DEVICE_DIM_1
from wave_core.lang.symbols import DEVICE_DIM_2
from wave_core.lang.symbols import WORKGROUP_0
from wave_core.lang.symbols import WORKGROUP_1
from wave_core.lang.symbols import WORKGROUP_2
from wave_core.lang.symbols import WORKGROUP_3
from wave_core.lang.symbols import WORKGROUP_4
from wave_core.lang.symbols import index_symbol
from wave_core.lang.symbols import sym
from wave_core.lang.synchronize import Operation
from wave_core.lang.synchronize import breakpoint_here
from wave_core.lang.synchronize import memory_counter_wait
from wave_core.lang.synchronize import memory_counter_wait_barrier
from wave_core.lang.synchronize import scheduling_barrier
from wave_core.lang.synchronize import scheduling_group_barrier
from wave_core.lang.synchronize import set_wave_prio
from wave_core.lang.synchronize import shared_memory_barrier
from wave_core.lang.synchronize import shared_memory_barrier_signal
from wave_core.lang.synchronize import shared_memory_barrier_wait
from wave_core.lang.synchronize import wave_fence
from wave_core.lang.synchronize import workgroup_barrier
from wave_core.lang.types import GLOBAL_ADDRESS_SPACE
from wave_core.lang.types import GLOBAL_MEMORY
from wave_core.lang.types import SHARED_ADDRESS_SPACE
from wave_core.lang.types import SHARED_MEMORY
from wave_core.lang.types import Memory
from wave_core.lang.types import MemoryLayout
from wave_core.lang.types import Register
from wave_core.lang.types import SymbolBind
from wave_core.ops.control import Iterate
from wave_core.ops.direct import GatherToLDS
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read
from wave_core.ops.memory import Write
from wave_core.ops.sync import MemoryCounterWait
from wave_core.ops.sync import SchedulingBarrier
from wave_core.ops.sync import SchedulingGroupBarrier
from wave_core.ops.sync import SetWavePrio
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.ops.sync import SharedMemoryBarrierSignal
from wave_core.ops.sync import SharedMemoryBarrierWait
from wave_core.ops.sync import WaveFence
from wave_core.ops.sync import WorkgroupBarrier
from wave_core.targets import MMAType
from wave_core.trace import Value
from wave_core.trace import conditional
from wave_core.trace import iterate
from wave_core.types import AddressSpace
from wave_core.types.dtype import bf16
from wave_core.types.dtype import bool_
from wave_core.types.dtype import f8e4m3fn
from wave_core.types.dtype import f8e4m3fnuz
from wave_core.types.dtype import f8e5m2
from wave_core.types.dtype import f8e5m2fnuz
from wave_core.types.dtype import f16
from wave_core.types.dtype import f32
from wave_core.types.dtype import f64
from wave_core.types.dtype import i8
from wave_core.types.dtype import i16
from wave_core.types.dtype import i32
from wave_core.types.dtype import i64
from wave_core.types.dtype import index

if TYPE_CHECKING:
    from wave_core.compile import WaveCompileOptions
    from wave_core.compile import wave_compile

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

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
from wave_core.lang.synchronize import workgroup_barrier
from wave_core.lang.types import GLOBAL_ADDRESS_SPACE
from wave_core.lang.types import GLOBAL_MEMORY
from wave_core.lang.types import SHARED_ADDRESS_SPACE
from wave_core.lang.types import SHARED_MEMORY
from wave_core.lang.types import Memory
from wave_core.lang.types import MemoryLayout
from wave_core.lang.types import Register
from wave_core.lang.types import SymbolBind
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
reduction = iterate

_COMPILE = ("WaveCompileOptions", "wave_compile")

__all__ = [
    "DEVICE_DIM_0",
    "DEVICE_DIM_1",
    "DEVICE_DIM_2",
    "GLOBAL_ADDRESS_SPACE",
    "GLOBAL_MEMORY",
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
    "GridConstraint",
    "HardwareConstraint",
    "IndexMapping",
    "IteratorBindings",
    "LaunchableWave",
    "MMAType",
    "Memory",
    "MemoryAccessFlags",
    "MemoryLayout",
    "Operation",
    "Register",
    "ReorderingConstraint",
    "ShuffleMode",
    "SymbolBind",
    "SymbolicAlias",
    "TilingConstraint",
    "Value",
    "WaveCompileOptions",
    "WaveConstraint",
    "WorkgroupConstraint",
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
    "floor",
    "ge",
    "get_result",
    "gt",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "index_symbol",
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
    "permute",
    "powf",
    "read",
    "reciprocal",
    "reduction",
    "register",
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
    "sum",
    "sym",
    "tag",
    "tanh",
    "tanh_approx",
    "wave",
    "wave_compile",
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

"""Names that the language does not have: those of others, and mistakes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from wave_core.diagnostics import capture_location, make_diagnostic
from wave_core.trace.value import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_FILLED = "`Register[M, N, f32](0.0)` is a tile of one number"
_LAYOUT = "`MMAType` says what a lane holds of a product, `wave inspect` shows it"
_HALVES = "`stagger(loop)` lets half of the waves wait, and proves that all meet again"
_TENSOR_COPIES = "no chip that is supported has them; `gather_to_lds` copies a tile"
_THREADS = "`thread_id(0)` and `program_id(0)` in a kernel of `@thread`"
_PIECES = "constraints cut dims in tiles, `read(memory)` gives the tile of a wave"
_STAGED = (
    "`Memory[M, K, SHARED_ADDRESS_SPACE, f16]` stages an argument, `allocate` is a "
    "buffer of your own"
)
_CODE = (
    "Python runs while a kernel is traced: its `for` and `if` decide which code there "
    "is; `index_symbol('BLOCK')` is a number that is bound when it is compiled"
)
_LOG = "`debug_log(x)` keeps a register of each launch"
_CHECKED = "`Assumption(M > 0)` among the constraints is checked at each launch"
_MOVE = "`write(read(a), b)` copies; passes make copies asynchronous"
_GRID_AXIS = "`WorkgroupConstraint(M, TILE, 0)` cuts a dim among workgroups"
_LOOP = "`@iterate(K)` loops over the tiles of a dim; presets pipeline it"
_VECTOR = "the compiler knows; `read(memory, elements_per_thread=4)` sets it"
_LAUNCH = "kernels take `Memory[..]` parameters; what is written is the output"

INSTEAD: Mapping[str, str] = {
    "arange": "`self_index(M, i32)` is the index of each element",
    "bounds_check": "`read(memory, bounds={M: M})` leaves elements out; `sim` and "
    "`emulator` report accesses that leave a memory without saying so",
    "associative_scan": "`scan(function, x, dim=N)`",
    "broadcast_in_dim": "`broadcast(x, [M, N])`",
    "broadcast_to": "`broadcast(x, [M, N])`",
    "constant": _FILLED,
    "debug_barrier": "`shared_memory_barrier()`",
    "dot_scaled": "`scaled_mma(a, a_scale, b, b_scale, acc)`",
    "expand_dims": "operands meet by the names of dims; else `broadcast(x, [M, N])`",
    "histogram": "`atomic_add` into the bins",
    "infinity": "`Register[M, f32](float('inf'))`; -inf as well",
    "ravel": "a tile has its memory's dims: `read(a, mapping=m)` gives it others",
    "reduce": "`sum`, `max`, `min`, or the last element of `scan(function, x)`",
    "dot": "`mma(a, b, acc)`, or `a @ b` for two tiles that share one dim",
    "for_loop": "`@iterate(K)` loops over the tiles of a dim",
    "full": _FILLED,
    "is_debug": "`WaveCompileOptions` are known before a kernel is traced",
    "ones": _FILLED,
    "relu": "`maximum(x, 0.0)`",
    "trans": "`permute(x, [N, M])`",
    "to_dtype": "`cast(x, f32)`",
    "transpose": "`permute(x, [N, M])`",
    "zeros": _FILLED,
    "zeros_like": _FILLED,
    **dict.fromkeys(
        ("KernelBuffer", "InputBuffer", "OutputBuffer", "TemporaryBuffer"), _LAUNCH
    ),
    **dict.fromkeys(("thread_idx", "block_idx", "block_dim", "lane_idx"), _THREADS),
    **dict.fromkeys(("local_tile", "local_partition", "zipped_divide"), _PIECES),
    **dict.fromkeys(("make_layout", "make_tensor", "flat_divide"), _PIECES),
    **dict.fromkeys(("make_tiled_mma", "make_tiled_copy", "make_fragment"), _PIECES),
    **dict.fromkeys(("alloc_shared", "alloc_fragment", "alloc_local"), _STAGED),
    **dict.fromkeys(("static_range", "static_print", "constexpr"), _CODE),
    **dict.fromkeys(("device_print", "printf"), _LOG),
    **dict.fromkeys(("static_assert", "device_assert", "assume"), _CHECKED),
    **dict.fromkeys(("make_tensor_descriptor", "make_block_ptr", "copy"), _MOVE),
    **dict.fromkeys(("autovec_copy", "copy_async", "async_copy"), _MOVE),
    **dict.fromkeys(("tile", "grid", "cdiv", "ceildiv", "ceil_div"), _GRID_AXIS),
    **dict.fromkeys(("Pipelined", "serial", "range"), _LOOP),
    **dict.fromkeys(("multiple_of", "max_contiguous", "vectorized"), _VECTOR),
    "Parallel": "operators on whole tiles; `@thread` says what one thread does",
    "Kernel": "`@wave(constraints)`; `WorkgroupConstraint`s size the grid",
    "Tensor": "`Memory[M, N, GLOBAL_ADDRESS_SPACE, f32]`",
    "gemm": "`mma(a, b, acc)` inside `@iterate(K)`",
    "fill": "`write(Register[M, N, f32](0.0), memory)`",
    "clear": _FILLED,
    "if_then_else": "`select(condition, a, b)`",
    "reduce_max": "`max(x, dim=N)`",
    "reduce_sum": "`sum(x, dim=N)`",
    "use_swizzle": "`DieOrder()` or a `ReorderingConstraint` among the constraints",
    "Grid": "`WorkgroupConstraint`s size the grid, `GridConstraint` sets it",
    "Index": "`index` is the element type, `sym.NAME` a symbol",
    "Vector": "`Register[M, N, f32]`",
    **dict.fromkeys(
        ("get_constrained_shape", "get_grid_shape", "get_device_layout"),
        "`WorkgroupConstraint` and its kin decide it; `wave inspect` prints the grid",
    ),
    **dict.fromkeys(
        ("MMA_LHS", "MMA_RHS", "MMA_ACC", "MMA_LHS_SCALE", "MMA_RHS_SCALE"), _LAYOUT
    ),
    **dict.fromkeys(("MMA_SCALE_FP4", "INPUT_SELECTOR", "IndexSequence"), _LAYOUT),
    "GPR_NUM": _LAYOUT,
    "LINEAR_INDEX": "an `IndexMapping` has a coordinate for each dim of the memory",
    **dict.fromkeys(
        ("insert_cond_barrier_before", "insert_cond_barrier_after"), _HALVES
    ),
    "get_hardware_constraint": _HALVES,
    **dict.fromkeys(
        ("tensor_load_to_lds", "TensorLoadToLDS", "tensor_counter_wait"), _TENSOR_COPIES
    ),
    "get_workgroup_symbol": "`WORKGROUP_0` to `WORKGROUP_4` are the symbols",
}
"""Ways to write what has a name in another language, or had one here."""


def missing(name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that the language does not have."""
    if name.startswith("__"):
        # Python's own protocols ask for such names; none of them is the user's.
        return AttributeError(name)
    return RefusedError(
        make_diagnostic(
            "WV0119",
            f"the language has no `{name}`",
            at=capture_location(),
            help=_proposal(name, known),
        )
    )


def _proposal(name: str, known: Iterable[str]) -> str:
    if name in INSTEAD:
        return f"in this language: {INSTEAD[name]}"
    close = get_close_matches(name, list(known), n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return "`dir(wave_core.lang)` lists its names"

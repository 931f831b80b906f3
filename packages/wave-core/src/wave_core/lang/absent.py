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
_LAUNCH = "kernels take `Memory[..]` parameters; what is written is the output"

INSTEAD: Mapping[str, str] = {
    "arange": "`self_index(M, i32)` is the index of each element",
    "bounds_check": "`read(memory, bounds={M: M})` leaves elements out; `sim` and "
    "`emulator` report accesses that leave a memory without saying so",
    "broadcast_in_dim": "`broadcast(x, [M, N])`",
    "constant": _FILLED,
    "dot": "`mma(a, b, acc)`, or `a @ b` for two tiles that share one dim",
    "for_loop": "`@iterate(K)` loops over the tiles of a dim",
    "full": _FILLED,
    "is_debug": "`WaveCompileOptions` are known before a kernel is traced",
    "ones": _FILLED,
    "relu": "`maximum(x, 0.0)`",
    "to_dtype": "`cast(x, f32)`",
    "transpose": "`permute(x, [N, M])`",
    "zeros": _FILLED,
    "zeros_like": _FILLED,
    **dict.fromkeys(
        ("KernelBuffer", "InputBuffer", "OutputBuffer", "TemporaryBuffer"), _LAUNCH
    ),
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

"""What the plugin registers.

Every session imports this module, so it loads neither torch, numpy nor the compiler:
it says by import path where the pass, the ops and the lane rules are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import (
    ConstraintSet,
    LoweringSpec,
    ModulePassSpec,
    OpSet,
    PassSpec,
    Phase,
    TileRules,
    hookimpl,
)
from wave_example_pass.codes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 4)


@hookimpl
def wave_register_passes() -> Iterable[PassSpec]:
    """One pass; its place follows from what it says about its neighbours."""
    yield PassSpec(
        "fold-double-negation",
        Phase.CANONICALIZE,
        "wave_example_pass.fold:FoldDoubleNegation",
        before=("eliminate-dead-code",),
        summary="-(-x) is x",
    )


@hookimpl
def wave_register_ops() -> Iterable[OpSet]:
    """Three ops: elementwise, laid out like its operand, and with its own layout."""
    yield OpSet("wave_example_pass.ops:Relu6")
    yield OpSet("wave_example_pass.ops:SwapPairs")
    yield OpSet("wave_example_pass.complex:ComplexMul")


@hookimpl
def wave_register_tile_rules() -> Iterable[TileRules]:
    """How the op with its own layout is laid out, and cut into pieces."""
    yield TileRules("wave_example_pass.complex", "complex_mul")


@hookimpl
def wave_register_constraints() -> Iterable[ConstraintSet]:
    """What authors may say about a dimension of pairs."""
    yield ConstraintSet("wave_example_pass.constraints:Interleaved")


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """What `wave explain EXAMPLE001` prints."""
    yield from CODES


@hookimpl
def wave_register_lowerings() -> Iterable[LoweringSpec]:
    """How lanes of the simulator execute the ops, and how AMD GPUs do."""
    yield LoweringSpec("sim", "wave_example_pass.lanes")
    missing = {"wave_example.swap_pairs": "only the simulator has it so far"}
    yield LoweringSpec("amdgpu", "wave_example_pass.amdgpu", missing)


@hookimpl
def wave_register_module_passes() -> Iterable[ModulePassSpec]:
    """What is left to do when the kernel is MLIR."""
    yield ModulePassSpec(
        "drop-products-with-one",
        "amdgpu",
        "wave_example_pass.mlir:drop_products_with_one",
        summary="x * 1.0 is x",
    )

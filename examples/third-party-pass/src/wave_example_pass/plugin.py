"""What the plugin registers.

Every session imports this module, so it loads neither torch, numpy nor the compiler:
it says by import path where the pass, the ops and the lane rules are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import LoweringSpec, OpSet, PassSpec, Phase, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUIRES_API = (1, 0)


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
    """Two ops, one elementwise and one that is not."""
    yield OpSet("wave_example_pass.ops:OPS", "relu6, swap_pairs")


@hookimpl
def wave_register_lowerings() -> Iterable[LoweringSpec]:
    """How the lanes of the simulator execute the op that is not elementwise."""
    yield LoweringSpec("sim", "wave_example_pass.lanes")

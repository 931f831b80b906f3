"""How AMD GPUs compute the ops: rules of the backend `amdgpu`, in its terms.

Wave imports this module when code is generated, so the backend is at hand.
"""

from __future__ import annotations

from wave_backend_amdgpu.lowering import (
    Emitter,
    Kind,
    Operands,
    Value,
    element,
    gathered,
    sliced,
)
from wave_core.plugin import lowers
from wave_example_pass.complex import ComplexMul
from wave_example_pass.ops import Relu6


@lowers(Relu6)
def relu6(op: Relu6, emit: Emitter) -> None:
    """At least zero and at most the cap; NaN stays NaN."""
    work = Operands(op, emit)
    found = work.apply("maximumf", *work.names, work.constant(0.0))
    work.finish(work.apply("minimumf", found, work.constant(op.cap)))


@lowers(ComplexMul)
def complex_mul(op: ComplexMul, emit: Emitter) -> None:
    """Four products, a difference and a sum, of the two registers of a lane."""
    work = Operands(op, emit)
    item = element(work.dtype)

    def compute(word: str, one: str, other: str) -> str:
        return emit.instructions.apply(word, Kind(item), one, other)

    (a, b), (c, d) = (
        [sliced(emit, Value(name, item, 2), part, 1) for part in range(2)]
        for name in work.names
    )
    real = compute("subf", compute("mulf", a, c), compute("mulf", b, d))
    imaginary = compute("addf", compute("mulf", a, d), compute("mulf", b, c))
    work.finish(gathered(emit, [real, imaginary], item))

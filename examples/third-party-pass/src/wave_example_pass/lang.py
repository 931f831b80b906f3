"""What kernel authors import: ``from wave_example_pass.lang import relu6``."""

from __future__ import annotations

from wave_core.trace.surface import surface
from wave_example_pass.complex import ComplexMul
from wave_example_pass.constraints import Interleaved
from wave_example_pass.ops import Relu6, SwapPairs

__all__ = ["Interleaved", "complex_mul", "relu6", "swap_pairs"]

complex_mul = surface(ComplexMul, "complex_mul")
relu6 = surface(Relu6, "relu6")
swap_pairs = surface(SwapPairs, "swap_pairs")

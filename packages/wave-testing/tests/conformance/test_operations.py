"""Some of core's ops do what ops have to do."""

from __future__ import annotations

import numpy as np

from wave_core.ops.arithmetic import Mod
from wave_core.ops.arithmetic import Neg
from wave_core.ops.arithmetic import Sub
from wave_core.ops.compare import Cast
from wave_core.ops.compare import Select
from wave_core.types import DTYPES
from wave_testing.conformance import OpConformance


class TestNeg(OpConformance):
    op = Neg


class TestSub(OpConformance):
    op = Sub


class TestModOfIntegers(OpConformance):
    op = Mod

    def make_operands(self, rng):
        return [rng.integers(1, 50, (5, 70), dtype=np.int32) for _ in range(2)]


class TestSelect(OpConformance):
    op = Select

    def make_operands(self, rng):
        lhs, rhs = rng.standard_normal((2, 5, 70)).astype(np.float16)
        return [lhs < rhs, lhs, rhs]


class TestCast(OpConformance):
    op = Cast
    attributes = {"dtype": DTYPES["i32"]}

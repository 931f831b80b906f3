"""Some of core's ops do what ops have to do, and an op that is wrong does not."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Session
from wave_testing.conformance import OpConformance, OpExample

M, N = tkw.sym.M, tkw.sym.N
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.HardwareConstraint(threads_per_wave=64),
    tkw.WorkgroupConstraint(M, 4, 0),
    tkw.WorkgroupConstraint(N, 32, 1),
]


def arguments(rng):
    operands = rng.integers(1, 40, (2, 9, 50)).astype(np.float32)
    return [*operands, np.full((9, 50), np.nan, np.float32)]


def binary(function):
    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkw.Memory[M, N, GLOBAL, tkw.f32],
        b: tkw.Memory[M, N, GLOBAL, tkw.f32],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        tkw.write(function(tkw.read(a), tkw.read(b)), c)

    return kernel


def example(function, expected=None):
    return OpExample(
        kernel=binary(function),
        subs={M: 9, N: 50},
        arguments=arguments,
        outputs=(2,),
        expected=expected,
    )


def mixed_types():
    function = binary(lambda a, b: a - tkw.cast(b, tkw.f16))
    function.trace({M: 9, N: 50})


class TestSub(OpConformance):
    op_name = "sub"
    misuses = (mixed_types,)

    def example(self):
        return example(lambda a, b: a - b, lambda given: [given[0] - given[1]])


class TestMod(OpConformance):
    op_name = "mod"

    def example(self):
        return example(lambda a, b: a % b, lambda given: [given[0] % given[1]])


class TestSelect(OpConformance):
    op_name = "select"

    def example(self):
        return example(lambda a, b: tkw.select(a < b, a, b))


class WrongReference(OpConformance):
    op_name = "sub"

    def example(self):
        return example(lambda a, b: b - a, lambda given: [given[0] - given[1]])


class OtherOp(OpConformance):
    op_name = "mul"

    def example(self):
        return example(lambda a, b: a - b)


def test_a_wrong_result_fails():
    with pytest.raises(AssertionError, match="elements differ"):
        WrongReference().test_the_result_is_right(Session(announce=lambda _: None))


def test_an_example_without_the_op_fails():
    with pytest.raises(AssertionError):
        OtherOp().test_the_example_uses_the_op()


def test_misuse_that_is_taken_fails():
    class Accepts(TestSub):
        misuses = (lambda: None,)

    with pytest.raises(pytest.fail.Exception):
        Accepts().test_misuse_is_a_coded_error()

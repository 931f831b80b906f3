"""Ops that are not core's: what their traits say about layouts and pieces."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ir import PLACEMENT
from wave_core.ops import Op, Trait, builtin_ops
from wave_core.ops.base import operand
from wave_core.ops.memory import Read
from wave_core.trace.surface import surface

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


class Follows(Op, name="test.follows", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    value: Op = operand()

    def infer(self):
        return self.value.type


class Silent(Op, name="test.silent", traits={Trait.PURE}):
    value: Op = operand()

    def infer(self):
        return self.value.type


class Says(Op, name="test.says", traits={Trait.ORDERED}):
    """No value, no operands: a hint to the hardware."""


class Takes(Op, name="test.takes", traits={Trait.ORDERED}):
    value: Op = operand()


def kernel(*ops):
    """``b = op(a)`` with four pieces; ops without a value stand beside it."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 32, 0),
            tkw.WaveConstraint(M, 32),
            tkw.HardwareConstraint(
                threads_per_wave=64, vector_shapes={M: 8, N: 8}, max_bits_per_load=32
            ),
        ]
    )
    def apply(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16], b: tkl.Memory[M, N, GLOBAL, tkl.f16]
    ):
        value = tkw.read(a)
        for op in ops:
            made = surface(op)(*([value] if op.fields else []))
            value = value if made is None else made
        tkw.write(value, b)

    return apply


def found(graph, cls):
    return [op for op in graph.walk() if type(op) is cls]


def test_an_op_that_follows_its_operands_is_cut_and_laid_out_like_them(lowered):
    graph = lowered(kernel(Follows), M=32, N=8)
    pieces, reads = found(graph, Follows), found(graph, Read)
    assert len(pieces) == len(reads) > 1
    for piece, read in zip(pieces, reads, strict=True):
        assert piece.value is read
        rows = (graph.facts.get(PLACEMENT, op) for op in (piece, read))
        assert len(set(rows)) == 1


def test_an_ordered_op_without_operands_stays_one(lowered):
    assert len(found(lowered(kernel(Says), M=32, N=8), Says)) == 1


@pytest.mark.parametrize("cls", [Silent, Takes])
def test_an_op_that_says_nothing_is_refused(lowered, cls):
    with pytest.raises(UserError, match=cls.op_name) as caught:
        lowered(kernel(cls), M=32, N=8)
    assert caught.value.code == "WV0601"
    assert "FOLLOWS_OPERANDS" in caught.value.diagnostics[0].help[0]


def test_ops_of_core_that_follow_their_operands():
    names = {op.op_name for op in builtin_ops() if Trait.FOLLOWS_OPERANDS in op.traits}
    assert names == {
        "apply_expr",
        "broadcast",
        "permute",
        "reshape",
        "shuffle",
        "squeeze",
    }

"""Random bits: the rounds of Philox on halves of 64-bit products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.rules.arithmetic import Operands
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import element
from wave_core.ops.random import MULTIPLIERS, ROUNDS, WEYL, Philox
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter

_U32, _U64 = DTYPES["u32"], DTYPES["u64"]


@lowers(Philox)
def philox(op: Philox, emit: Emitter) -> None:
    """One word of the block."""
    work = Operands(op, emit)
    words = _Words(emit, work.registers)
    seed, offset = (words.halves(name) for name in work.names)
    zero = emit.constant(0, _U32, work.registers)
    block, keys = (*offset, zero, zero), seed
    for _ in range(ROUNDS):
        low, high = (
            words.product(block[at], factor)
            for at, factor in zip((0, 2), MULTIPLIERS, strict=True)
        )
        block = (
            words.mixed(high[1], block[1], keys[0]),
            high[0],
            words.mixed(low[1], block[3], keys[1]),
            low[0],
        )
        keys = words.stepped(keys)
    emit.set(op, block[op.word], work.registers)


class _Words:
    """Arithmetic on vectors of 32-bit words."""

    def __init__(self, emit: Emitter, registers: int) -> None:
        self._emit = emit
        self._registers = registers
        self._word = vector(element(_U32), registers)
        self._wide = vector(element(_U64), registers)

    def halves(self, name: str) -> tuple[str, str]:
        """The low and the high word of each 64 bits."""
        op = self._emit.builder.op
        count = self._emit.constant(32, _U64, self._registers)
        upper = op(f"arith.shrui {name}, {count} : {self._wide}")
        return self._cut(name), self._cut(upper)

    def _cut(self, name: str) -> str:
        text = f"arith.trunci {name} : {self._wide} to {self._word}"
        return self._emit.builder.op(text)

    def product(self, name: str, factor: int) -> tuple[str, str]:
        """The halves of the whole product with a constant."""
        op = self._emit.builder.op
        wide = op(f"arith.extui {name} : {self._word} to {self._wide}")
        other = self._emit.constant(factor, _U64, self._registers)
        return self.halves(op(f"arith.muli {wide}, {other} : {self._wide}"))

    def mixed(self, *names: str) -> str:
        """The exclusive or of all."""
        total, *rest = names
        for name in rest:
            text = f"arith.xori {total}, {name} : {self._word}"
            total = self._emit.builder.op(text)
        return total

    def stepped(self, keys: tuple[str, str]) -> tuple[str, str]:
        """The keys of the next round."""
        steps = [self._emit.constant(step, _U32, self._registers) for step in WEYL]
        one, other = (
            self._emit.builder.op(f"arith.addi {key}, {step} : {self._word}")
            for key, step in zip(keys, steps, strict=True)
        )
        return one, other

"""Random bits: the rounds of Philox on halves of 64-bit products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission import Kind
from wave_core.backends.emission.operands import Operands
from wave_core.ops.random import MULTIPLIERS, ROUNDS, WEYL, Philox
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission

_U32, _U64 = DTYPES["u32"], DTYPES["u64"]


@lowers(Philox)
def philox(op: Philox, emit: Emission) -> None:
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

    def __init__(self, emit: Emission, registers: int) -> None:
        self._emit = emit
        self._make = emit.instructions
        self._registers = registers
        self._word = Kind("i32", registers)
        self._wide = Kind("i64", registers)

    def halves(self, name: str) -> tuple[str, str]:
        """The low and the high word of each 64 bits."""
        count = self._emit.constant(32, _U64, self._registers)
        upper = self._make.apply("shrui", self._wide, name, count)
        return self._cut(name), self._cut(upper)

    def _cut(self, name: str) -> str:
        return self._make.convert("trunci", self._wide, "i32", name)

    def product(self, name: str, factor: int) -> tuple[str, str]:
        """The halves of the whole product with a constant."""
        wide = self._make.convert("extui", self._word, "i64", name)
        other = self._emit.constant(factor, _U64, self._registers)
        return self.halves(self._make.apply("muli", self._wide, wide, other))

    def mixed(self, *names: str) -> str:
        """The exclusive or of all."""
        total, *rest = names
        for name in rest:
            total = self._make.apply("xori", self._word, total, name)
        return total

    def stepped(self, keys: tuple[str, str]) -> tuple[str, str]:
        """The keys of the next round."""
        steps = [self._emit.constant(step, _U32, self._registers) for step in WEYL]
        one, other = (
            self._make.apply("addi", self._word, key, step)
            for key, step in zip(keys, steps, strict=True)
        )
        return one, other

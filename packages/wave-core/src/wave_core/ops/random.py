"""Random bits as a function of a seed and a position: no state, any order."""

from __future__ import annotations

from typing import Any

from wave_core.diagnostics import user_error
from wave_core.ops.base import Op, attribute, operand
from wave_core.ops.elementwise import Elementwise
from wave_core.types import DTYPES, DType, RegisterType

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""The constants of Philox4x32-10.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3,
SC 2011, section 3.3 and table 2.
"""

WORDS = 4
"""32-bit words of one block."""


class Philox(Elementwise, name="philox"):
    """A word of the block that Philox4x32-10 gives for a key and a counter.

    The 64 bits of ``seed`` are the key, those of ``offset`` the low half of the
    counter, whose high half is 0. The same on every device. Shapes: the dims of both.
    Dtypes: u64, the result is u32. Raises: WV0204, WV0205, WV0222 for a word that a
    block does not have.
    """

    allowed = frozenset({DTYPES["u64"].family})
    hint = "write `cast(value, u64)`"

    seed: Op = operand(help="the key, one for each stream of numbers")
    offset: Op = operand(help="which block, one for each element")
    word: int = attribute(default=0, least=0, help="which of its words, 0 to 3")

    def infer(self) -> RegisterType:
        """Words of 32 bits on the dims of both."""
        if self.word >= WORDS:
            raise user_error(
                "WV0222",
                f"a block of `philox` has {WORDS} words and no word {self.word}",
                at=self.location,
                label="`word=` is out of range",
                help="take another `offset` for more numbers",
            )
        return super().infer()

    def result_dtype(self, dtype: DType) -> DType:  # noqa: ARG002 - overrides
        """Words."""
        return DTYPES["u32"]

    def compute(self, np: Any, *arrays: Any) -> Any:
        """Ten rounds of multiplications, whose halves change places."""
        mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
        seed, offset = np.broadcast_arrays(*arrays)
        block = [offset & mask, offset >> half, seed & 0, seed & 0]
        keys = [seed & mask, seed >> half]
        for _ in range(ROUNDS):
            low, high = (
                block[at] * np.uint64(factor)
                for at, factor in zip((0, 2), MULTIPLIERS, strict=True)
            )
            block = [
                (high >> half) ^ block[1] ^ keys[0],
                high & mask,
                (low >> half) ^ block[3] ^ keys[1],
                low & mask,
            ]
            keys = [
                (key + np.uint64(step)) & mask
                for key, step in zip(keys, WEYL, strict=True)
            ]
        return block[self.word]

"""How many registers a wave may have, so that enough waves fit on a SIMD."""

from __future__ import annotations

from dataclasses import dataclass

_UNIFIED = 512
"""Vector registers of a lane of a SIMD, VGPRs and AGPRs. Source: CDNA3 white paper."""
_GRANULE = 8
"""They are given out in multiples of this. Source: LLVM, "AMDGPU usage"."""
_ADDRESSED = 256
"""VGPRs, and AGPRs, that an instruction can name."""
_WAVES = 8
"""Waves that a SIMD has at most. Source: CDNA3 ISA, "Compute unit"."""
_SCALARS = 102
"""SGPRs below VCC. Source: CDNA3 ISA, "Scalar operands"."""


@dataclass(frozen=True)
class Budget:
    """Registers of a wave.

    Attributes:
        vector: VGPRs and AGPRs together.
        scalar: SGPRs.
        most: waves of a SIMD at a time, if registers keep none away: LDS may.
        sharing: waves that use what a compute unit has once at the same time.
    """

    vector: int
    scalar: int = _SCALARS
    most: int = _WAVES
    sharing: int = 1

    @classmethod
    def of_waves(cls, waves: int, most: int = _WAVES) -> Budget:
        """What each of so many waves of a SIMD gets.

        Raises:
            ValueError: a SIMD has at least one wave and at most eight.
        """
        if not 1 <= waves <= _WAVES:
            raise ValueError(f"{waves} waves on a SIMD, which has 1 to {_WAVES}")
        vector = _UNIFIED // waves // _GRANULE * _GRANULE
        return cls(vector, most=min(_WAVES, max(1, most)))

    def beside(self, vectors: int) -> int:
        """The most vector registers that let as many waves fit as so many do."""
        return self.room(self.waves(vectors))

    def waves(self, vectors: int) -> int:
        """Waves of a SIMD at a time, each of which has so many vector registers."""
        return max(1, min(self.most, _UNIFIED // granted(max(1, vectors))))

    def room(self, waves: int) -> int:
        """The most vector registers of a wave with which so many fit on a SIMD."""
        return min(self.vector, Budget.of_waves(max(1, waves)).vector)

    def limit(self, file: str, vgprs: int = 0) -> int:
        """Registers of one file; AGPRs are what ``vgprs`` leave."""
        if file == "s":
            return self.scalar
        if file == "v":
            return min(_ADDRESSED, self.vector)
        return min(_ADDRESSED, self.vector - -(-vgprs // 4) * 4)


def granted(registers: int) -> int:
    """What a wave that needs so many vector registers is given."""
    return -(-registers // _GRANULE) * _GRANULE

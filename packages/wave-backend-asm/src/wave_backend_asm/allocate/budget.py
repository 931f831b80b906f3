"""How many registers a wave may have, so that enough waves fit on a SIMD."""

from __future__ import annotations

from dataclasses import dataclass

_UNIFIED = 512
"""Vector registers of a lane of a SIMD, VGPRs and AGPRs. Source: CDNA3 white paper."""
_GRANULE = 8
"""They are given out in multiples of this. Source: LLVM, "AMDGPU usage"."""
_ADDRESSED = 256
"""VGPRs, and AGPRs, that an instruction can name."""
_SCALARS = 102
"""SGPRs below VCC. Source: CDNA3 ISA, "Scalar operands"."""


@dataclass(frozen=True)
class Budget:
    """Registers of a wave.

    Attributes:
        vector: VGPRs and AGPRs together.
        scalar: SGPRs.
    """

    vector: int
    scalar: int = _SCALARS

    @classmethod
    def of_waves(cls, waves: int) -> Budget:
        """What each of so many waves of a SIMD gets.

        Raises:
            ValueError: a SIMD has at least one wave and at most eight.
        """
        if not 1 <= waves <= 8:
            raise ValueError(f"{waves} waves on a SIMD, which has 1 to 8")
        return cls(_UNIFIED // waves // _GRANULE * _GRANULE)

    @classmethod
    def beside(cls, vectors: int) -> Budget:
        """The most that lets as many waves fit as so many vector registers do."""
        return cls.of_waves(max(1, min(8, _UNIFIED // granted(max(1, vectors)))))

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

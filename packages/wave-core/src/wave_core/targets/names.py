"""The names of matrix instructions; a target says which of them it has."""

from __future__ import annotations

from enum import Enum


class MMAType(Enum):
    """Names of matrix instructions: result type, MxNxK, operand kind.

    A name is only a name: ``Target.matrix_instruction`` resolves it to shapes and
    lane layouts, or reports that the target has no such instruction.
    """

    F32_16x16x16_F16 = "F32_16x16x16_F16"
    F32_32x32x8_F16 = "F32_32x32x8_F16"
    F32_16x16x32_K8_F16 = "F32_16x16x32_K8_F16"
    F32_32x32x16_K8_F16 = "F32_32x32x16_K8_F16"
    I32_16x16x16_I8 = "I32_16x16x16_I8"
    I32_32x32x8_I8 = "I32_32x32x8_I8"
    F32_16x16x32_F8 = "F32_16x16x32_F8"
    F32_32x32x16_F8 = "F32_32x32x16_F8"
    F32_16x16x32_K4_F8 = "F32_16x16x32_K4_F8"
    F32_32x32x16_K4_F8 = "F32_32x32x16_K4_F8"
    I32_16x16x32_I8 = "I32_16x16x32_I8"
    I32_32x32x16_I8 = "I32_32x32x16_I8"
    F32_16x16x32_F16 = "F32_16x16x32_F16"
    F32_32x32x16_F16 = "F32_32x32x16_F16"
    F32_16x16x32_BF16 = "F32_16x16x32_BF16"
    F32_32x32x16_BF16 = "F32_32x32x16_BF16"
    RDNA4_WAVE32_F32_16x16x16_F16 = "RDNA4_WAVE32_F32_16x16x16_F16"
    GFX1250_F32_16x16x32_F16 = "GFX1250_F32_16x16x32_F16"
    F32_16x16x4_F32 = "F32_16x16x4_F32"
    F32_32x32x2_F32 = "F32_32x32x2_F32"
    F64_16x16x4_F64 = "F64_16x16x4_F64"
    F32_16x16x128_F8F6F4 = "F32_16x16x128_F8F6F4"
    F32_32x32x64_F8F6F4 = "F32_32x32x64_F8F6F4"
    GFX1250_F32_16x16x128_F8F6F4 = "GFX1250_F32_16x16x128_F8F6F4"
    RDNA3_WAVE32_F32_16x16x16_F16 = "RDNA3_WAVE32_F32_16x16x16_F16"
    RDNA3_WAVE32_I32_16x16x16_I8 = "RDNA3_WAVE32_I32_16x16x16_I8"
    RDNA4_WAVE32_I32_16x16x16_I8 = "RDNA4_WAVE32_I32_16x16x16_I8"
    RDNA4_WAVE32_F32_16x16x16_F8 = "RDNA4_WAVE32_F32_16x16x16_F8"

    def __str__(self) -> str:
        return self.value

"""The names of matrix instructions; a target says which of them it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from wave_core.diagnostics import capture_location, coded_init, user_error


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
    F32_16x16x256_K64_F8F6F4 = "F32_16x16x256_K64_F8F6F4"
    F32_32x32x128_K64_F8F6F4 = "F32_32x32x128_K64_F8F6F4"
    GFX1250_F32_16x16x128_F8F6F4 = "GFX1250_F32_16x16x128_F8F6F4"
    RDNA3_WAVE32_F32_16x16x16_F16 = "RDNA3_WAVE32_F32_16x16x16_F16"
    RDNA3_WAVE32_I32_16x16x16_I8 = "RDNA3_WAVE32_I32_16x16x16_I8"
    RDNA4_WAVE32_I32_16x16x16_I8 = "RDNA4_WAVE32_I32_16x16x16_I8"
    RDNA4_WAVE32_F32_16x16x16_F8 = "RDNA4_WAVE32_F32_16x16x16_F8"

    def __str__(self) -> str:
        return self.value


class ScaledMMAType(Enum):
    """Names of matrix instructions that take scales for blocks of their operands."""

    F32_16x16x128_F8F6F4 = "F32_16x16x128_F8F6F4"
    F32_32x32x64_F8F6F4 = "F32_32x32x64_F8F6F4"
    F32_16x16x256_K64_F8F6F4 = "F32_16x16x256_K64_F8F6F4"
    F32_32x32x128_K64_F8F6F4 = "F32_32x32x128_K64_F8F6F4"
    GFX1250_F32_16x16x128_F8F6F4 = "GFX1250_F32_16x16x128_F8F6F4"

    def __str__(self) -> str:
        return self.value


class MMAOperand(Enum):
    """The rows, or the columns, of a product."""

    M = "M"
    N = "N"


@coded_init
@dataclass(frozen=True)
class GenericDot:
    """A product without a matrix instruction: multiplied and summed by lanes.

    It stands in the place of a matrix instruction, for one product or for all of a
    kernel, where operands are so thin that most of an instruction would be idle.
    How lanes share elements follows from the accesses, as for any sum; the numbers by
    which other compilers are told are checked here and change nothing.

    Attributes:
        out_vec_size: Results of a lane.
        k_vec_size: Contracted elements that a lane multiplies at a time.
        k_mult: Lanes that share one result.
        along_dim: Along which dimension of the result lanes lie.
    """

    out_vec_size: int = 1
    k_vec_size: int = 4
    k_mult: int = 1
    along_dim: MMAOperand = MMAOperand.N

    def __post_init__(self) -> None:
        """See that the numbers count something.

        Raises:
            UserError: WV0222.
        """
        for name in ("out_vec_size", "k_vec_size", "k_mult"):
            value: object = getattr(self, name)
            if type(value) is not int or value < 1:
                raise self._unfit(name, "a positive integer")
        given: object = vars(self)["along_dim"]
        if not isinstance(given, MMAOperand):
            raise self._unfit("along_dim", "MMAOperand.M or MMAOperand.N")

    def _unfit(self, name: str, wanted: str) -> Exception:
        return user_error(
            "WV0222",
            f"`{name}` of `GenericDot` is {getattr(self, name)!r}",
            at=capture_location(),
            help=f"it takes {wanted}",
        )

    def __str__(self) -> str:
        return GENERIC_DOT


GENERIC_DOT = "GenericDot"
"""The name by which constraints and ops ask for it."""

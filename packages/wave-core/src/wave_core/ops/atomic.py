"""Ops that update elements of a memory, each in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand, optional, variadic
from wave_core.ops.memory import check_stored
from wave_core.ops.sync import SCOPES
from wave_core.ops.traits import Effect, EffectKind, Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.types import AccessMapping, DType, MemoryType

_INTEGERS = ("i32", "u32", "i64", "u64")
_NUMBERS = ("f32", "f64", *_INTEGERS)


class Atomic(Op, traits={Trait.LAYS_OUT_ITSELF}):
    """Elements of a memory combined with those of a register, each in one step.

    The value is what the memory held before; 0 where no element exists. Each element
    of the tile is combined once, however many lanes and waves hold it. The order is
    open where several meet at one element of the memory. Atomics do not race with
    each other; with plain reads and writes they do.

    Shapes: the register's dims are the memory's, or those of the mapping; the value
    has the same. Dtypes: ``dtypes``. Raises: WV0201, WV0202, WV0204, WV0208, WV0401,
    WV0402; WV0234 for other element types.
    """

    dtypes: ClassVar[tuple[str, ...]] = _NUMBERS
    """The element types that it has a form for."""

    value: Op = operand(help="the register")
    memory: Op = operand(help="the memory")
    indices: tuple[Op, ...] = variadic(help="index registers of the mapping")
    expected: Op | None = optional(help="of `cas`, what the memory has to hold")
    mapping: AccessMapping | None = attribute(
        default=None, help="from register indices to coordinates of the memory"
    )
    elements_per_thread: int | None = attribute(
        least=1,
        default=None,
        help="consecutive elements of one lane; chosen by default",
    )
    scope: str = attribute(default="device", help=f"one of {', '.join(SCOPES)}")

    @property
    def memory_type(self) -> MemoryType:
        """The type of the memory that is updated."""
        return self.memory.memory_type

    def infer(self) -> RegisterType:
        """A register like the one given."""
        value = rules.register_type(self, self.value, "register")
        check_stored(self, self.value)
        self._require_dtype(value.dtype)
        if self.expected is not None:
            roles = ("register", "expected")
            rules.same_dtype(self, (self.value, self.expected), roles)
            rules.require_same_dims(self, self.expected, value.shape, "the register")
        return RegisterType(value.shape, value.dtype)

    def _require_dtype(self, dtype: DType) -> None:
        if str(dtype) in self.dtypes:
            return
        raise user_error(
            "WV0234",
            f"`{self.op_name}` has no form for {dtype}",
            at=self.location,
            label=f"updates {dtype}",
            secondary=((self.memory.location, f"this is {dtype}"),),
            help=f"its element types are {', '.join(self.dtypes)}",
        )

    def effects(self) -> tuple[Effect, ...]:
        """Reads and writes its memory."""
        return (Effect(EffectKind.READ_WRITE, self.memory),)

    def combined(self, before: Any, value: Any, expected: Any = None) -> Any:
        """The values of elements that held ``before``, as numpy arrays of one shape."""
        raise NotImplementedError


class _Ufunc(Atomic):
    """An update that numpy has a function for."""

    function: ClassVar[str]

    def combined(self, before: Any, value: Any, expected: Any = None) -> Any:  # noqa: ARG002
        """The function of both."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        result: Any = getattr(np, self.function)(before, value)
        return result


class AtomicAdd(_Ufunc, name="atomic_add"):
    """Adds; integers wrap around, floats of 16 bits are rounded.

    Dtypes: floats from 16 bits on, integers of 32 and 64 bits; see `Atomic`.
    """

    dtypes = ("f16", "bf16", *_NUMBERS)
    function = "add"


class AtomicMin(_Ufunc, name="atomic_min"):
    """Keeps the smaller one; a NaN in the register changes nothing.

    What becomes of a NaN in the memory is open: machines differ. Dtypes: numbers of
    32 and 64 bits; see `Atomic`.
    """

    function = "fmin"


class AtomicMax(_Ufunc, name="atomic_max"):
    """Keeps the larger one; a NaN in the register changes nothing.

    What becomes of a NaN in the memory is open: machines differ. Dtypes: numbers of
    32 and 64 bits; see `Atomic`.
    """

    function = "fmax"


class AtomicAnd(_Ufunc, name="atomic_and"):
    """Keeps what both have. Dtypes: integers of 32 and 64 bits; see `Atomic`."""

    dtypes = _INTEGERS
    function = "bitwise_and"


class AtomicOr(_Ufunc, name="atomic_or"):
    """Keeps the bits of both. Dtypes: integers of 32 and 64 bits; see `Atomic`."""

    dtypes = _INTEGERS
    function = "bitwise_or"


class AtomicXor(_Ufunc, name="atomic_xor"):
    """Keeps the bits that differ. Dtypes: integers of 32 and 64 bits; see `Atomic`."""

    dtypes = _INTEGERS
    function = "bitwise_xor"


class AtomicXchg(Atomic, name="atomic_xchg"):
    """Keeps the register's. Dtypes: numbers of 32 and 64 bits; see `Atomic`."""

    def combined(self, before: Any, value: Any, expected: Any = None) -> Any:  # noqa: ARG002
        """The new one."""
        return value


class AtomicCas(Atomic, name="atomic_cas"):
    """Keeps the register's where the memory held ``expected``.

    Dtypes: integers of 32 and 64 bits; see `Atomic`.
    """

    dtypes = _INTEGERS

    def combined(self, before: Any, value: Any, expected: Any = None) -> Any:
        """The new one where the old one is the expected one."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        where: Any = np.where
        return where(before == expected, value, before)


ATOMICS: tuple[type[Atomic], ...] = (
    *(AtomicAdd, AtomicMin, AtomicMax, AtomicAnd, AtomicOr, AtomicXor),
    *(AtomicXchg, AtomicCas),
)
"""All updates."""

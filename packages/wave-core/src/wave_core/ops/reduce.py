"""Ops that combine elements, or move them between lanes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand, optional, variadic
from wave_core.ops.elementwise import compute_dtype, convert
from wave_core.ops.extremes import MAXIMUM, MINIMUM
from wave_core.ops.shape import align
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.types import DType

KINDS = ("sum", "max", "min")
_EXTREMES = {"max": MAXIMUM, "min": MINIMUM}

SHUFFLE_MODES = ("xor", "up", "down", "idx")


GREATEST = {"f8e4m3fn": 448.0, "f8e4m3fnuz": 240.0, "f8e5m2fnuz": 57344.0}
"""The greatest value of floats that have no infinity, which stands in for it.

Source: OCP 8-bit floating point specification 1.0, table 1; arXiv:2206.02915, table 1.
"""


def identity_value(kind: str, dtype: DType) -> float:
    """The neutral element: 0, -inf or inf, or an integer's limit."""
    if kind == "sum":
        return 0.0 if dtype.is_float else 0
    if dtype.is_float:
        greatest = GREATEST.get(dtype.name, float("inf"))
        return -greatest if kind == "max" else greatest
    held = dtype.integer_range
    return held[0] if kind == "max" else held[-1]


class Reduce(Op, name="reduce", traits={Trait.PURE, Trait.LAYS_OUT_ITSELF}):
    """The sum, maximum or minimum of all elements along ``dim``.

    Several sources of one type are combined with each other as well, and ``init``
    on top. Elements at or beyond the extent of ``dim`` take no part. NaN wins in
    max and min, and 0 is above -0. The result is that of the workgroup's tile: waves
    that share it along ``dim`` combine theirs, whether or not ``block`` says so.

    Shapes: the dims of the source but ``dim``. Dtypes: that of the sources; narrow
    floats add up in f32 and round once. Raises: WV0204, WV0205, WV0214 for a
    source without ``dim``, WV0215 for an ``init`` of another type.
    """

    sources: tuple[Op, ...] = variadic(help="registers of one type")
    init: Op | None = optional(help="a value to start from, of the result's type")
    kind: str = attribute(help="sum, max or min")
    dim: Expr = attribute(help="the dimension that goes")
    block: bool = attribute(default=False, help="the author knows that waves share it")

    def infer(self) -> RegisterType:
        """The source's tile without ``dim``."""
        assert self.kind in KINDS, self.kind
        roles = tuple(f"source {i}" for i in range(len(self.sources)))
        dtype = rules.same_dtype(self, self.sources, roles)
        for source, role in zip(self.sources, roles, strict=True):
            rules.require_family(self, source, role, rules.NUMBERS)
            self._check_source(source)
        first = rules.register_type(self, self.sources[0], roles[0])
        shape = tuple(dim for dim in first.shape if dim != self.dim)
        result = RegisterType(shape, dtype)
        if self.init is not None:
            self._check_init(self.init, result)
        return result

    def _check_source(self, source: Op) -> None:
        found = rules.register_type(self, source, "source")
        first = rules.register_type(self, self.sources[0], "source")
        if self.dim in found.shape and set(found.shape) == set(first.shape):
            return
        raise user_error(
            "WV0214",
            f"`{self.kind}` over `{self.dim}` of a register with dims "
            f"{rules.dims_text(found.shape)}",
            at=self.location,
            label=f"reduces `{self.dim}`",
            secondary=((source.location, f"this has {found}"),),
            help="`dim=` names one of the register's dims; all sources have the same",
        )

    def _check_init(self, init: Op, result: RegisterType) -> None:
        found = rules.register_type(self, init, "acc")
        if found != result:
            raise user_error(
                "WV0215",
                f"the accumulator of `{self.kind}` is {found}, its result {result}",
                at=self.location,
                label=f"gives {result}",
                secondary=((init.location, f"this is {found}"),),
                help=f"start from a register of type {result}",
            )

    def evaluate(self, *operands: Any) -> Any:
        """The sources along their axis of ``dim``, then ``init``."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        combine = _EXTREMES.get(self.kind, np.add)
        wide = compute_dtype(self.register_type.dtype)
        arrays = [convert(array, wide) for array in operands]
        with np.errstate(all="ignore"):
            parts = [
                self._reduced(combine, source, array, wide)
                for source, array in zip(self.sources, arrays, strict=False)
            ]
            if self.init is not None:
                parts.append(arrays[-1])
            total = parts[0]
            for part in parts[1:]:
                total = combine(total, part)
        return convert(total, self.register_type.dtype)

    def _reduced(self, combine: Any, source: Op, array: Any, wide: DType) -> Any:
        found = rules.register_type(self, source, "source")
        kept = tuple(dim for dim in found.shape if dim != self.dim)
        start = convert(identity_value(self.kind, found.dtype), wide)
        whole = combine.reduce(
            array, axis=found.shape.index(self.dim), dtype=array.dtype, initial=start
        )
        return align(whole, kept, rules.register_type(self, self, "result").shape)


class Shuffle(Op, name="shuffle", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """Each lane receives the value of another lane of its group.

    Groups are ``width`` lanes; ``mode`` says which partner a lane has: ``xor``
    (lane ^ offset), ``up`` (lane - offset), ``down`` (lane + offset), ``idx``
    (lane ``offset`` of the group). A lane whose partner is outside its group keeps
    its value. Shapes and dtypes: those of the value. Units: lanes. Raises: WV0216.
    """

    value: Op = operand(help="the register")
    offset: int = attribute(help="distance or lane, see the mode")
    width: int = attribute(least=1, help="lanes of a group, a power of two")
    mode: str = attribute(default="xor", help="xor, up, down or idx")

    def infer(self) -> RegisterType:
        """The type of the value."""
        found = rules.register_type(self, self.value, "value")
        power = self.width > 0 and self.width & (self.width - 1) == 0
        if self.mode not in SHUFFLE_MODES or not power or self.offset < 0:
            raise user_error(
                "WV0216",
                f"`shuffle` cannot move values by {self.offset} in groups of "
                f"{self.width} lanes, mode `{self.mode}`",
                at=self.location,
                help=(
                    f"mode is one of {', '.join(SHUFFLE_MODES)}",
                    "width is a power of two, offset not negative",
                ),
            )
        return found

    def check_wave(self, lanes: int) -> None:
        """Refuse groups that are wider than a wave of ``lanes`` lanes.

        Raises:
            UserError: WV0216.
        """
        if self.width > lanes:
            raise user_error(
                "WV0216",
                f"`shuffle` in groups of {self.width} lanes, a wave has {lanes}",
                at=self.location,
                help="exchange between waves goes through LDS: `allocate`",
            )

    def partner(self, lane: int) -> int:
        """The lane whose value ``lane`` receives."""
        return _partner(self.mode, self.offset, self.width, lane)

    def reaches_over(self, reach: int) -> bool:
        """Whether a lane gets the value of one that is not among its ``reach``."""
        return _reaches_over(self.mode, self.offset, self.width, reach)


def _partner(mode: str, offset: int, width: int, lane: int) -> int:
    group = lane - lane % width
    other = {
        "xor": lane ^ offset,
        "up": lane - offset,
        "down": lane + offset,
        "idx": group + offset,
    }[mode]
    return other if group <= other < group + width else lane


@cache
def _reaches_over(mode: str, offset: int, width: int, reach: int) -> bool:
    partners = (_partner(mode, offset, width, lane) for lane in range(width))
    return any(other // reach != lane // reach for lane, other in enumerate(partners))

"""The functions by word and type, as definitions in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from wave_backend_nvgpu.codegen.mathematics import (
    angles,
    bytes as small_floats,
    errors,
    exponentials,
    logarithms,
    remainders,
)
from wave_backend_nvgpu.codegen.mathematics.number import F32, F64, I8, Body, Number

Writer = Callable[..., Number]


@dataclass(frozen=True)
class Function:
    """A function: what it is called, takes, gives, and how it is written."""

    name: str
    takes: str
    operands: int
    gives: str
    write: Writer

    def define(self) -> tuple[str, Mapping[str, str]]:
        """Its definition, and the declarations that it needs, by name."""
        body = Body()
        names = [f"%x{at}" for at in range(self.operands)]
        given = [Number(body, name, self.takes) for name in names]
        result = self.write(*given)
        head = ", ".join(f"{self.takes} {name}" for name in names)
        lines = [
            f"define internal {self.gives} @{self.name}({head}) alwaysinline {{",
            "entry:",
            *body.lines,
            f"  ret {self.gives} {result.name}",
            "}",
        ]
        return "\n".join(lines), body.declared


_BOTH: Mapping[str, Writer] = {
    "exp": exponentials.exp,
    "exp2": exponentials.exp2,
    "tanh": exponentials.tanh,
    "erf": errors.erf,
    "erfc": errors.erfc,
    "log": logarithms.log,
    "log2": logarithms.log2,
    "log10": logarithms.log10,
}
"""Written for f64 and f32."""

_WIDE: Mapping[str, tuple[Writer, int]] = {
    "sinh": (exponentials.sinh, 1),
    "cbrt": (logarithms.cbrt, 1),
    "sin": (angles.sin, 1),
    "cos": (angles.cos, 1),
    "powf": (logarithms.powf, 2),
    "atan2": (angles.atan2, 2),
    "remf": (remainders.remf, 2),
}
"""Written for f64 alone; that of f32 is the same, rounded."""


def _through_f64(write: Writer) -> Writer:
    def narrow(*numbers: Number) -> Number:
        return write(*[number.wide() for number in numbers]).narrow()

    return narrow


def _functions() -> Mapping[tuple[str, str], Function]:
    found: dict[tuple[str, str], Function] = {}
    for item, kind in (("f64", F64), ("f32", F32)):
        rows = {word: (write, 1) for word, write in _BOTH.items()}
        for word, (write, operands) in _WIDE.items():
            rows[word] = (write if kind == F64 else _through_f64(write), operands)
        for word, (write, operands) in rows.items():
            name = f"wave.{word}.{item}"
            found[word, item] = Function(name, kind, operands, kind, write)
    for item, form in small_floats.FORMATS.items():
        low = item.lower()
        found["extf", item] = Function(
            f"wave.from.{low}", I8, 1, F32, partial(small_floats.to_f32, form=form)
        )
        found["truncf", item] = Function(
            f"wave.to.{low}", F32, 1, I8, partial(small_floats.of_f32, form=form)
        )
    return found


FUNCTIONS = _functions()
"""By word, and by the item that it is of, or converts to or from f32."""

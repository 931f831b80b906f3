"""The functions by word and type, as definitions in LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from wave_backend_nvgpu.codegen.mathematics import (
    angles,
    bytes as small_floats,
    remainders,
)
from wave_backend_nvgpu.codegen.mathematics.number import Body, type_of
from wave_core.backends.mathematics.library import Writer, functions
from wave_core.backends.mathematics.number import F32, I8, Number


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
        head = ", ".join(f"{type_of(self.takes)} {name}" for name in names)
        gives = type_of(self.gives)
        lines = [
            f"define internal {gives} @{self.name}({head}) alwaysinline {{",
            "entry:",
            *body.lines,
            f"  ret {gives} {result.name}",
            "}",
        ]
        return "\n".join(lines), body.declared


_OWN: Mapping[str, tuple[Writer, int]] = {
    "sin": (angles.sin, 1),
    "cos": (angles.cos, 1),
    "remf": (remainders.remf, 2),
}
"""Written for f64 and for machines with tables and loops."""


def _functions() -> Mapping[tuple[str, str], Function]:
    found: dict[tuple[str, str], Function] = {}
    for (word, item), (write, operands) in functions(_OWN).items():
        name = f"wave.{word}.{item}"
        found[word, item] = Function(name, item, operands, item, write)
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

"""The functions by word and kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wave_core.backends.mathematics import angles, errors, exponentials, logarithms
from wave_core.backends.mathematics.number import F32, F64, Number

Writer = Callable[..., Number]
"""From the operands to the result."""

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
    "powf": (logarithms.powf, 2),
    "atan2": (angles.atan2, 2),
}
"""Written for f64 alone; that of f32 is the same, rounded."""


_NARROW: Mapping[str, Writer] = {"sin": angles.sin, "cos": angles.cos}
"""Written for f32 alone."""


def _through_f64(write: Writer) -> Writer:
    def narrow(*numbers: Number) -> Number:
        return write(*[number.wide() for number in numbers]).narrow()

    return narrow


def functions(
    wide: Mapping[str, tuple[Writer, int]] | None = None,
) -> Mapping[tuple[str, str], tuple[Writer, int]]:
    """Functions by word of `Instructions` and kind, with how many operands they have.

    Args:
        wide: others that are written for f64 alone.
    """
    found = {(word, F32): (write, 1) for word, write in _NARROW.items()}
    for kind in (F64, F32):
        found |= {(word, kind): (write, 1) for word, write in _BOTH.items()}
        for word, (write, operands) in {**_WIDE, **(wide or {})}.items():
            made = write if kind == F64 else _through_f64(write)
            found[word, kind] = made, operands
    return found

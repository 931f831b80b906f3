"""What may be tried: declared by the author, or left open by the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from wave_core.compile.launchable import LaunchableWave
from wave_core.constraints import Constraint, Tunable
from wave_core.constraints.base import constraint
from wave_core.diagnostics import capture_location, user_error

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K", bound=LaunchableWave)


@constraint
class TuningWays(Tunable):
    """Presets and options of compilation among which a tuner chooses.

    A `Tunable` of no symbols: presets that choose by an estimate see nothing of it.

    Attributes:
        presets: Names of presets.
        options: Values by name of a compile option.
    """

    symbols: Any = ()
    values: Any = ()
    presets: Any = ()
    options: Any = ()

    def __post_init__(self) -> None:
        """Bring both into an immutable form.

        Raises:
            UserError: WV0327 where they are something else.
        """
        Constraint.__post_init__(self)
        presets = _listed(self.presets)
        plain = presets is not None and all(isinstance(each, str) for each in presets)
        self._require("presets", plain, 'names: `("default", "prefetch")`')
        given: Any = self.options or {}
        named = isinstance(given, Mapping)
        rows: dict[Any, Any] = {**given} if named else {}
        values = [(str(name), _listed(each)) for name, each in rows.items()]
        fits = named and all(each for _, each in values)
        self._require("options", fits, 'values by option: `{"unroll_factor": (1, 2)}`')
        self._set("presets", presets)
        self._set("options", tuple(values))
        self._set("symbols", ())
        self._set("values", ((),))


def wave_autotune(
    space: Mapping[Any, Any] | None = None,
    *,
    presets: Sequence[str] = (),
    options: Mapping[str, Sequence[object]] | None = None,
) -> Callable[[K], K]:
    """Declare what a tuner may try for the kernel below.

    The kernel stays a kernel: the symbols are left open, as by `Tunable`, and what was
    measured for a target and sizes is used wherever ``auto`` compiles it.

    Args:
        space: By symbol the values that it may have, the usual first; by tuple of
            symbols, rows of values that belong together.
        presets: Presets to try; by default the configurations that ``auto`` knows.
        options: Values to try by name of a compile option.

    Raises:
        UserError: WV0327 for values that do not fit, WV0826 above what is no kernel.

    Example::

        @wave_autotune({BLOCK_M: (64, 128)}, presets=("prefetch", "fetch-ahead"))
        @tkw.wave(constraints)
        def gemm(a: ..., b: ..., c: ...): ...
    """
    at = capture_location()
    rows: list[Constraint] = [
        Tunable(symbols, values, location=at)
        for symbols, values in (space or {}).items()
    ]
    if presets or options:
        rows.append(TuningWays(presets=presets, options=options or {}, location=at))

    def declare(kernel: K) -> K:
        if not isinstance(kernel, LaunchableWave):  # pyright: ignore[reportUnnecessaryIsInstance] - users may
            raise user_error(
                "WV0826",
                f"`wave_autotune` stands above a {type(kernel).__name__}, which is no"
                " kernel",
                at=at,
                help="write it above `@wave(constraints)`",
            )
        return replace(kernel, constraints=(*kernel.constraints, *rows))

    return declare


def _listed(given: object) -> tuple[Any, ...] | None:
    """The items of a list; ``None`` for what is none."""
    items: Any = given
    plain = isinstance(given, Sequence) and not isinstance(given, str)
    return tuple(items) if plain else None

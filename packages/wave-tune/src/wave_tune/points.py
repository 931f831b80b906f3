"""The ways to compile a kernel that a tuner may try."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Self

from wave_core.compile.alternatives import CYCLES
from wave_core.compile.choosing import PLAIN, choices, open_values
from wave_core.compile.options import option_table
from wave_core.constraints import Tunable
from wave_core.diagnostics import user_error
from wave_tune.space import TuningWays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.plugin import Choice

FAR = 2.5
"""How many times the best estimate of cycles is too far behind to be measured. Of 249
forms of three products and of attention on gfx942 and gfx950, what the emulator found
best of each was estimated to take at most 1.42 times the best estimate."""

WAY = "way"
"""The parameter of a trial that holds preset and options."""


def canonical(value: object) -> str:
    """JSON in which equal values are equal texts."""
    return json.dumps(value, sort_keys=True, default=str)


@dataclass(frozen=True)
class Point:
    """One way to compile a kernel: JSON values.

    Attributes:
        subs: Values of open symbols, by name: integers, or names of address spaces.
        options: Compile options by name, a preset among them.
    """

    subs: Mapping[str, int | str]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, subs: Mapping[Any, object], options: Mapping[str, object]) -> Self:
        """The point of a choice; options that change nothing are left out."""
        usual = {row.name: row.default for row in option_table()}
        told = {
            name: json.loads(canonical(value))
            for name, value in {"preset": PLAIN, **options}.items()
            if name == "preset" or value != usual.get(name)
        }
        return cls({str(key): _plain(value) for key, value in subs.items()}, told)

    @classmethod
    def of_text(cls, text: str) -> Self:
        """From what `text` wrote."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """The point as text, equal for equal points."""
        return canonical({"subs": dict(self.subs), "options": dict(self.options)})

    def applied(self, options: WaveCompileOptions) -> WaveCompileOptions:
        """The options with the point settled."""
        return replace(options, subs={**options.subs, **self.subs}, **self.options)

    def __str__(self) -> str:
        told = {**self.options, **self.subs}
        return " ".join(f"{name}={value}" for name, value in told.items())


def _plain(value: object) -> int | str:
    return value if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class Candidate:
    """A point that may be tried.

    Attributes:
        point: What it is.
        params: Its coordinates: for each group of symbols the values, and the way.
        cycles: The compiler's estimate; ``None`` where there is none.
        refused: Why it is not tried; empty where it may be.
    """

    point: Point
    params: Mapping[str, str]
    cycles: float | None = None
    refused: str = ""

    @property
    def fits(self) -> bool:
        """Whether it can be compiled, as far as the estimate knows."""
        return not self.refused or self.cycles is not None


@dataclass(frozen=True)
class Space:
    """All candidates of a kernel, those first that the compiler thinks fastest.

    Attributes:
        candidates: Each of them once.
        groups: The symbols whose values belong together, by the name of a parameter.
    """

    candidates: tuple[Candidate, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, Any])

    @cached_property
    def tried(self) -> tuple[Candidate, ...]:
        """The candidates that are worth a measurement."""
        return tuple(each for each in self.candidates if not each.refused)

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """What each parameter may be, over all candidates."""
        found: dict[str, dict[str, None]] = {}
        for each in self.candidates:
            for name, value in each.params.items():
                found.setdefault(name, {})[value] = None
        return {name: tuple(sorted(values)) for name, values in found.items()}

    @cached_property
    def digest(self) -> str:
        """What tells spaces apart, whatever is estimated in them."""
        return hashlib.sha256(canonical(self.axes).encode()).hexdigest()[:12]

    def find(self, params: Mapping[str, object]) -> Candidate | None:
        """The candidate at these coordinates, if it is worth a measurement."""
        wanted = canonical(dict(params))
        return self._places.get(wanted)

    @cached_property
    def _places(self) -> dict[str, Candidate]:
        return {canonical(dict(each.params)): each for each in self.tried}


def space_of(case: KernelCase, session: Session) -> Space:
    """The candidates of a kernel.

    Symbols are those that it leaves open. Presets and options are those that its
    author declares, else the configurations that the preset chooses among, else that
    preset alone.

    Raises:
        UserError: WV0832 where there is one way alone, and for mistakes in the kernel.
    """
    found = {
        point.text(): (point, choice)
        for choice in choices(case.options, case.kernel, session)
        if choice.refused or CYCLES in choice.figures
        for point in (Point.of(choice.subs, choice.options),)
    }
    declared = [row for row in case.kernel.constraints if isinstance(row, TuningWays)]
    if declared or not found:
        points = list(_declared(case, session, declared))
        found = {p.text(): found.get(p.text(), (p, None)) for p in points}
    if len(found) < 2:
        raise _nothing(case)
    groups = _groups(case, [point for point, _ in found.values()])
    least = min(
        (c.figures[CYCLES] for _, c in found.values() if c and not c.refused),
        default=0.0,
    )
    rows = [
        _candidate(point, choice, groups, least) for point, choice in found.values()
    ]
    return Space(tuple(sorted(rows, key=_order)), groups)


def _order(row: Candidate) -> tuple[bool, bool, float]:
    """Those with an estimate first; the author's order where there is none."""
    return bool(row.refused), row.cycles is None, row.cycles or 0.0


def _candidate(
    point: Point,
    choice: Choice | None,
    groups: Mapping[str, tuple[str, ...]],
    least: float,
) -> Candidate:
    params = {
        name: ",".join(str(point.subs[each]) for each in symbols)
        for name, symbols in groups.items()
    }
    params[WAY] = canonical(dict(point.options))
    if choice is None:
        return Candidate(point, params)
    cycles, refused = choice.figures.get(CYCLES), choice.refused
    if not refused and cycles is not None and cycles > FAR * least:
        refused = f"estimated {cycles / least:.1f} times as slow as the best"
    return Candidate(point, params, cycles, refused)


def _declared(
    case: KernelCase, session: Session, declared: list[TuningWays]
) -> Iterator[Point]:
    """Each way that the author declares, for all values of open symbols."""
    options = case.options
    plain = PLAIN if session.plugins.choosers_for(options.preset) else options.preset
    presets = [name for row in declared for name in row.presets] or [plain]
    axes = {name: values for row in declared for name, values in row.options}
    target = session.target(options.target, options.location)
    for values in open_values(options, case.kernel, target):
        for preset, *settings in product(presets, *axes.values()):
            given = dict(zip(axes, settings, strict=True))
            yield Point.of(values, {**given, "preset": preset})


def _groups(case: KernelCase, points: list[Point]) -> dict[str, tuple[str, ...]]:
    """Open symbols whose values the author lists together."""
    left = set(points[0].subs)
    groups: dict[str, tuple[str, ...]] = {}
    for row in case.kernel.constraints:
        if isinstance(row, Tunable):
            names = tuple(str(each) for each in row.symbols if str(each) in left)
            left -= set(names)
            if names:
                groups[",".join(names)] = names
    return groups


def _nothing(case: KernelCase) -> Exception:
    return user_error(
        "WV0832",
        f"there is one way to compile `{case.kernel.name}`, and nothing to tune",
        at=case.kernel.location,
        help=(
            "leave symbols open: `Tunable`, or `@wave_autotune({BLOCK_M: (64, 128)})`",
            '`@wave_autotune(presets=("default", "prefetch"))` tries presets',
        ),
    )

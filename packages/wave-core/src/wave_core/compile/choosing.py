"""What an author leaves open, settled before a kernel is compiled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from wave_core.compile.attempts import LAST, Attempt
from wave_core.compile.backends import blames_given_text
from wave_core.compile.bindings import Bound, bound_value
from wave_core.compile.fitting import (
    depends_on_tiles,
    leaves_loops,
    needs_too_much,
    says_the_same,
    smallest_change,
    with_help,
)
from wave_core.compile.front import Traces, bound_kernel
from wave_core.compile.garbage import garbage_waits
from wave_core.compile.option_rows import given
from wave_core.compile.option_values import check_waves
from wave_core.compile.roomier import spilled_in, with_room
from wave_core.constraints import Tunable, lanes_of
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import UserError, blamed_on_plugin
from wave_core.plugin.results import Choice, ChoiceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.ir.graph import Graph
    from wave_core.symbols import Expr
    from wave_core.targets import Target

T = TypeVar("T")

TRIED = 8
"""Choices that are worth a compilation, should the best not fit after all: what a tile
lacks, its other schedules lack as well, and the plain preset is far behind."""

PLAIN = "default"
"""The preset of a kernel for which nothing is chosen."""

BARE = "naive"
"""The preset that needs least of a machine: nothing is staged, nothing overlaps."""

UNSTAGED = "read-without-staging{told=true}"
"""What is not staged then is said together with the preset, and why."""

AUTO = "auto"
"""The preset that means `PLAIN` where no installed plugin chooses."""

Values = dict["Expr", Bound]
"""A way to settle the symbols that are left open."""


def open_values(
    options: WaveCompileOptions, kernel: LaunchableWave, target: Target
) -> tuple[Values, ...]:
    """Each way to settle what neither the options settle nor the launch.

    The usual one comes first; where nothing is open, it is the only one, and empty.

    Raises:
        UserError: WV0822 for values that no symbol can have.
    """
    tunables = (row for row in kernel.constraints if isinstance(row, Tunable))
    lanes = lanes_of(kernel.constraints, target)
    every = [_rows(options, each, lanes) for each in tunables]
    return tuple(
        {k: v for row in rows for k, v in row.items()} for rows in product(*every)
    )


def _open_values(
    options: WaveCompileOptions, kernel: LaunchableWave, session: Session
) -> tuple[Values, ...]:
    target = session.target(options.target, options.location)
    return open_values(options, kernel, target)


def _rows(options: WaveCompileOptions, tunable: Tunable, lanes: int) -> list[Values]:
    """The rows that agree with the options, of the symbols that are open."""
    bound, at = options.bindings, tunable.location
    rows = [
        {key: bound_value(key, value, at) for key, value in row.items()}
        for row in tunable.rows(lanes)
    ]
    agreeing = [
        row for row in rows if all(bound.get(k, v) == v for k, v in row.items())
    ]
    settled = {*bound, *options.dynamic_symbols}
    left = [
        {key: value for key, value in row.items() if key not in settled}
        for row in agreeing or rows[:1]
    ]
    return [row for place, row in enumerate(left) if row not in left[:place]]


@garbage_waits()
def first_that_fits(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    compiled: Callable[[WaveCompileOptions, Traces, Attempt], T],
    check: Callable[[T], None] = lambda _: None,
    after: WaveCompileOptions | None = None,
    known: Sequence[WaveCompileOptions] = (),
) -> T:
    """What ``compiled`` makes of the best choice that it can compile.

    An estimate can be wrong about what fits a machine: where a choice needs more of
    something than there is, an assembler or a scheduler gives up what makes it fast, or
    a pass refuses it, the next one is tried, and last the plain preset, whose refusal
    is the user's. Text of the user stands in for that of the best, so what is wrong
    with it is told at once. What two choices are refused for in the same words, other
    than fit, is not for what was chosen, and leaves only the last. Where no choice
    changes a loop of the kernel, the best is compiled without. Loops of the last one
    get schedules with fewer registers where machine code spills. What ``auto`` compiles
    in no other way is compiled without staging, unless the author asks something of the
    passes that would be left out; so is what spills fewer registers then.

    Args:
        options: The options of the user.
        kernel: What to compile.
        session: Where plugins are.
        compiled: Compiles by options that leave nothing open; told what to refuse,
            as there are other ways.
        check: Refuses a choice that compiles, and could not be used.
        after: The choice that failed; those before it did so earlier.
        known: The choices, the best first, where the caller has them already.

    Raises:
        UserError: as ``compiled``.
    """
    traces = Traces(kernel, session)
    *better, last = known or settlements(options, kernel, session, traces)
    if after in better:
        better = better[better.index(after) + 1 :]

    def checked(settled: WaveCompileOptions, attempt: Attempt) -> T:
        found = compiled(settled, traces, attempt)
        check(found)
        return found

    def blamed(error: UserError) -> bool:
        return blames_given_text(error, session, options)

    found, unchanged = _of_better(better, checked, blamed)
    if found is not None:
        return found
    if unchanged is not None:
        with suppress(UserError):
            return checked(unchanged, Attempt(spills=0))
    if not may_be_bare(options):
        return with_room(last, lambda settled: compiled(settled, traces, LAST))
    try:
        return checked(last, Attempt(spills=0))
    except UserError as error:
        if blamed(error):
            raise
        if spilled_in(error):
            return _barest_or_last(error, last, kernel, session, checked)
        return _barest(error, last, kernel, session, checked)


def _of_better(
    better: Sequence[WaveCompileOptions],
    checked: Callable[[WaveCompileOptions, Attempt], T],
    blamed: Callable[[UserError], bool],
) -> tuple[T | None, WaveCompileOptions | None]:
    """What is made of a choice, or the first one that would change no loop.

    Raises:
        UserError: where a refusal is ``blamed`` on what the user gave.
    """
    refused: UserError | None = None
    unchanged: WaveCompileOptions | None = None
    for left, choice in zip(range(len(better), 0, -1), better, strict=True):
        try:
            return checked(choice, Attempt.of_choice(left)), None
        except UserError as error:
            if blamed(error):
                raise
            if not depends_on_tiles(error) and says_the_same(error, refused):
                break
            unchanged = unchanged or (choice if leaves_loops(error) else None)
            refused = error
    return None, unchanged


OF_PASSES = frozenset({"disable_passes", "passes", "pipeline"})
"""Options that name passes; others are about one, and say so in their row."""


def may_be_bare(options: WaveCompileOptions) -> bool:
    """Whether the author leaves the passes open, so that the fewest would do."""
    asks = any(row.setting or row.name in OF_PASSES for row, _ in given(options))
    return options.preset == AUTO and not asks


def bare(options: WaveCompileOptions) -> WaveCompileOptions:
    """The options with the fewest passes."""
    return replace(options, preset=BARE, passes=(UNSTAGED,))


def tell_preset(
    kernel: LaunchableWave, session: Session, preset: str, *reasons: str
) -> None:
    """Tell the user which preset a kernel is compiled as after all, and why."""
    why = "; ".join(filter(None, reasons))
    told = f"`{kernel.name}` is compiled as preset `{preset}`: {why}"
    session.announce(told, told)


def _barest_or_last(
    error: UserError,
    last: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    checked: Callable[[WaveCompileOptions, Attempt], T],
) -> T:
    """What spills fewer registers: the fewest passes, or the last choice.

    Raises:
        UserError: as ``checked``, of the last choice.
    """
    try:
        found = checked(bare(last), Attempt(spills=spilled_in(error) - 1))
    except UserError:
        return checked(last, LAST)
    tell_preset(kernel, session, BARE, error.diagnostics[0].message)
    return found


def _barest(
    error: UserError,
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    checked: Callable[[WaveCompileOptions, Attempt], T],
) -> T:
    """What compiles with the fewest passes, where it does.

    A change fits where machine code spills nothing either: some choice is estimated to
    fit, and what is compiled is refused as a choice that another one could replace.

    Raises:
        UserError: ``error``, with the smallest change that fits where it is about fit.
    """

    def refusal(other: WaveCompileOptions) -> UserError | None:
        try:
            known = choices(replace(other, preset=AUTO), kernel, session)
            if known and all(each.refused for each in known):
                return error
            checked(other, Attempt.of_choice(1))
        except UserError as refused:
            return refused
        return None

    fit = needs_too_much(error)
    change = smallest_change(options, kernel, refusal) if fit else ""
    try:
        found = checked(bare(options), LAST)
    except UserError:
        raise (with_help(error, change) if change else error) from None
    tell_preset(kernel, session, BARE, error.diagnostics[0].message, change)
    return found


def settlements(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    traces: Traces | None = None,
) -> list[WaveCompileOptions]:
    """The options with all that is open settled, the best first.

    Args:
        options: The options of the user.
        kernel: What to compile.
        session: Where plugins are.
        traces: Keeps what is traced on the way.

    Raises:
        UserError: as `choices`.
    """
    usual = _open_values(options, kernel, session)[0]
    plain = _with(options, usual, {"preset": PLAIN})
    if not session.plugins.choosers_for(options.preset):
        return [plain if options.preset == AUTO else _with(options, usual, {})]
    found = choices(options, kernel, session, traces)
    fitting = [each for each in found if not each.refused]
    return [*(_settled(options, usual, each) for each in fitting[:TRIED]), plain]


def settled_by(
    choice: Choice,
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
) -> WaveCompileOptions:
    """The options with all that is open settled as one choice says."""
    return _settled(options, _open_values(options, kernel, session)[0], choice)


def _settled(
    options: WaveCompileOptions, usual: Values, choice: Choice
) -> WaveCompileOptions:
    changes = {"preset": PLAIN, **choice.options}
    return _with(options, {**usual, **choice.subs}, changes)


def choices(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    traces: Traces | None = None,
) -> list[Choice]:
    """What the choosers that ``options.preset`` asks find, the best first.

    Those that are asked before the preset's own know better.

    Raises:
        PluginError: WV0819 where the chooser fails.
        UserError: for mistakes in the kernel, its constraints or the bindings.
    """
    traces = traces or Traces(kernel, session)
    request = choice_request(options, kernel, session, traces)
    # The function of the kernel is the author's: its failures are not the plugin's.
    request.graph(request.values[0])
    found: list[Choice] = []
    for name in session.plugins.choosers_for(options.preset):
        info = session.plugins.choosers[name].provider
        choose = session.plugins.load_chooser(name)
        what = f"chooser `{name}` of plugin {info}"
        with blamed_on_plugin(what, options.location, help=info.way_out):
            found += choose(request)
    return found


def choice_request(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    traces: Traces,
) -> ChoiceRequest:
    """What choosers are given for a kernel.

    Raises:
        UserError: WV0823 for more waves than a SIMD of the target holds.
    """
    target = session.target(options.target, options.location)
    check_waves(options, target)

    def graph(values: Mapping[Expr, Any]) -> Graph:
        return traces.look(_with(options, values, {}))

    def geometry(values: Mapping[Expr, Any]) -> Geometry:
        bound = bound_kernel(options, kernel, session, values)
        sizes = {s: n for s, n in bound.known.items() if type(n) is int}
        return Geometry(bound.constraints, sizes, target, kernel.location)

    return ChoiceRequest(
        target,
        {row.name: value for row, value in given(options) if row.name != "preset"},
        _open_values(options, kernel, session),
        frozenset(session.plugins.presets),
        frozenset(session.plugins.pass_specs),
        graph,
        geometry,
        session.plugins.code_versions,
        session.announce,
    )


def _with(
    options: WaveCompileOptions,
    subs: Mapping[Expr, Any],
    changes: Mapping[str, Any],
) -> WaveCompileOptions:
    """The options with symbols bound and other options given."""
    if not subs and not changes:
        return options
    return replace(options, subs={**options.subs, **subs}, **changes)

"""`WaveCompileOptions`: the typed front of everything that compilation can be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from wave_core.compile.bindings import Bound, bound_value, symbol_of
from wave_core.compile.frozen import BoundSymbols, FrozenMap
from wave_core.compile.option_rows import (
    AMDGPU,
    MEMORY,
    SCHEDULING,
    OptionRow,
    Role,
    given,
    of_pass,
    of_plugin,
    option,
    rows_of,
)
from wave_core.compile.option_values import (
    by_name,
    check_types,
    names,
    pass_texts,
    unfit,
)
from wave_core.compile.other_options import OTHER_NAMES
from wave_core.compile.scheduling import SchedulingType
from wave_core.diagnostics import Location, capture_location, user_error
from wave_core.diagnostics.diagnostic import json_value
from wave_core.passes.options import did_you_mean
from wave_core.passes.text import PassText
from wave_core.symbols import Expr
from wave_core.targets import Target

C = TypeVar("C", bound=type)

#: What `device="auto"` lets the simulator spend before it asks: lane-steps, ops
#: times lanes. A few minutes of the lane simulator on one core.
AUTO_COST_LIMIT = 2_000_000_000

PassOptions = (
    str
    | Sequence[str | PassText]
    | Mapping[str, str | Mapping[str, object]]
    | tuple[PassText, ...]
)
"""Passes with options: text, or by pass the options as text or by name."""


def _coded_arguments(cls: C) -> C:
    """Make a misspelt keyword a coded diagnostic; pyright sees the signature as is."""
    generated: Callable[..., None] = cls.__init__

    @wraps(generated)
    def init(self: Any, *args: Any, **given: Any) -> None:
        known = [row.name for row in rows_of(cls)]
        if args:
            raise user_error(
                "WV0821",
                f"{cls.__name__} takes keyword arguments only",
                at=capture_location(),
                help=f"write {cls.__name__}(subs={{M: 512}})",
            )
        for name in given:
            if name not in known and name != "location":
                raise _unknown(name, known)
        generated(self, **given)

    cls.__init__ = init
    return cls


def _unknown(name: str, known: Sequence[str]) -> Exception:
    other = OTHER_NAMES.get(name)
    hints = (other,) if other else did_you_mean(name, known)
    return user_error(
        "WV0821",
        f"there is no compile option `{name}`",
        at=capture_location(),
        label=f"gives `{name}`",
        help=(*hints, f"the options are: {', '.join(known)}"),
    )


@_coded_arguments
@dataclass(frozen=True, kw_only=True)
class WaveCompileOptions:
    """How to compile a kernel. Immutable; compiles any number of kernels.

    Each option belongs to a package (`option_table`); one whose package is not
    installed is refused when a kernel is compiled.

    Raises:
        UserError: WV0821 unknown option, WV0822 unfit binding, WV0823 unfit value.
    """

    subs: Mapping[Any, Any] = option(
        BoundSymbols(), "values of symbols: integers, address spaces, symbols"
    )
    dynamic_symbols: Sequence[Any] = option(
        (), "symbols that take their value from the arguments of each launch"
    )
    target: str | Target = option(
        "generic", "the machine to compile for; auto: that of a GPU that is here"
    )
    device: str = option(
        "auto", "what runs the kernel: auto, sim, sim-logical, ...", Role.LAUNCH
    )
    backend: str = option(
        "", "what makes machine code, where several backends know the target"
    )
    preset: str = option("auto", "a named configuration of the pipeline")
    passes: PassOptions = option(
        (), "options of passes: `minimize-global-loads{max-bits=64}`"
    )
    disable_passes: Sequence[str] = option((), "passes not to run")
    pipeline: str | None = option(None, "exactly these passes, in any order")
    print_ir_after: Sequence[str] = option(
        (), "passes or phases after which to print", Role.REPORT
    )
    print_ir_before: Sequence[str] = option(
        (), "passes or phases before which to print", Role.REPORT
    )
    verify_each: bool = option(False, "check the IR after every pass")
    timing: bool = option(False, "report the time of every pass", Role.REPORT)
    checks: bool | Sequence[str] = option(
        True, "simulators: what to check; races, bounds, poison, alignment", Role.LAUNCH
    )
    poison_outputs: bool = option(
        False,
        "simulators: what outputs hold before the launch counts as unwritten, but for "
        "what atomics update",
        Role.LAUNCH,
    )
    cost_limit: int | None = option(
        AUTO_COST_LIMIT,
        "most lane-steps to simulate when the device is `auto`",
        Role.LAUNCH,
        at_least=0,
    )
    schedule: SchedulingType | str = of_pass(
        SchedulingType.NONE, SCHEDULING, "schedule-loops.strategy"
    )
    use_scheduling_barriers: bool = of_pass(False, SCHEDULING, "schedule-loops.hints")
    multi_buffer_count: int | None = of_pass(None, SCHEDULING, "schedule-loops.buffers")
    override_schedule: str | None = of_pass(None, SCHEDULING, "schedule-loops.override")
    dump_schedule: str | None = of_pass(None, SCHEDULING, "schedule-loops.dump")
    eliminate_epilogue: bool = of_pass(False, SCHEDULING, "schedule-loops.no_epilogue")
    unroll_factor: int = of_pass(1, SCHEDULING, "schedule-loops.unroll")
    spare_registers: int = of_pass(0, SCHEDULING, "schedule-loops.spare")
    reorder: str = of_pass("off", SCHEDULING, "reorder-loops.order")
    use_scheduling_groups: bool = of_pass(False, SCHEDULING, "reorder-loops.groups")
    use_global_to_shared: bool = of_pass(False, MEMORY, "copy-direct-to-lds.demanded")
    minimize_shared_allocs: bool | None = of_pass(None, MEMORY, "pack-shared-memory")
    reorder_allocs: bool | None = of_pass(None, MEMORY, "pack-shared-memory.by_size")
    enable_swizzle: bool | None = of_pass(None, MEMORY, "choose-lds-layouts.swizzle")
    use_buffer_ops: bool = of_plugin(False, AMDGPU)
    waves_per_eu: int | None = of_plugin(None, AMDGPU)
    denorm_fp_math_f32: str | None = of_plugin(None, AMDGPU)
    override_mlir: str | None = of_plugin(None, AMDGPU)
    use_fast_math: bool | None = option(
        None, "reordered sums, approximate functions; by default where kernels allow it"
    )
    dump_intermediates: str | None = option(
        None, "a folder for every stage as text", Role.REPORT
    )
    dump_binaries: str | None = option(None, "a folder for machine code", Role.REPORT)
    compile_to_mlir: bool = option(False, "`kernel.asm` is MLIR instead of assembly")
    plugin_options: Mapping[str, object] = option(
        FrozenMap[str, object](), "options that other plugins declare, by name"
    )
    location: Location | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Bring every option into its immutable form."""
        where: object = self.location
        if not isinstance(where, Location):
            where = capture_location()
        if self.location is None:
            self._set("location", where)
        given: Any = self.subs
        if not isinstance(given, Mapping):
            raise _no_mapping(given, where)
        rows = cast("Mapping[Any, Any]", given).items()
        symbols = {symbol_of(key, where): value for key, value in rows}
        bound = {key: bound_value(key, v, where) for key, v in symbols.items()}
        self._set("subs", BoundSymbols(bound))
        for name in ("disable_passes", "print_ir_after", "print_ir_before"):
            self._set(name, names(name, getattr(self, name), where))
        if not isinstance(self.checks, bool):
            self._set("checks", names("checks", self.checks, where))
        self._set("passes", pass_texts(self.passes, where))
        self._set("schedule", SchedulingType.named(self.schedule))
        others = by_name("plugin_options", self.plugin_options, where)
        self._set("plugin_options", FrozenMap(others))
        self._set("dynamic_symbols", self._dynamic(where))
        for row in rows_of(type(self)):
            value = getattr(self, row.name)
            if isinstance(value, Path):
                self._set(row.name, str(value))
        check_types(self, where)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _dynamic(self, where: Location) -> tuple[Expr, ...]:
        given: Any = self.dynamic_symbols
        if not isinstance(given, Iterable | Expr):
            raise unfit("dynamic_symbols", given, "symbols, or names of symbols", where)
        one = isinstance(given, str | Expr)
        listed = cast("Iterable[Any]", (given,) if one else given)
        return tuple(dict.fromkeys(symbol_of(key, where) for key in listed))

    @property
    def bindings(self) -> Mapping[Expr, Bound]:
        """The symbols in ``subs`` with their values."""
        return self.subs

    @property
    def target_name(self) -> str:
        """The name of the target."""
        return self.target.name if isinstance(self.target, Target) else self.target

    def describe(self) -> dict[str, object]:
        """Options that differ from the defaults, as JSON values."""
        rows = [(row.name, value) for row, value in given(self)]
        return {
            name: self.target_name if name == "target" else json_value(value)
            for name, value in rows
        }


def _no_mapping(value: object, where: Location) -> Exception:
    return user_error(
        "WV0822",
        f"`subs` is of type {type(value).__name__}",
        at=where,
        help="bind symbols by a dictionary: `subs={M: 512, N: 512}`",
    )


def set_default_run_config(options: WaveCompileOptions) -> WaveCompileOptions:
    """The options for whatever runs kernels here: a GPU of the target, or a simulator.

    That is what ``device="auto"`` means, the default; another device is replaced.
    """
    return replace(options, device="auto")


def option_table() -> tuple[OptionRow, ...]:
    """Every option: its name, the package that owns it, type, default, role."""
    return rows_of(WaveCompileOptions)

"""How one compile option is declared: default, owner, meaning; and its table."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

#: The distribution that owns an option, in the metadata of its field.
_OWNER = "wave_owner"
_SUMMARY = "wave_summary"
_NEUTRAL = "wave_neutral"

CORE = "wave-core"
MEMORY = "wave-passes-memory"
SCHEDULING = "wave-passes-scheduling"
AMDGPU = "wave-backend-amdgpu"

#: Options of the reference implementation that go by another name here.
OTHER_NAMES = {
    "backend": "device",
    "wave_runtime": "device",
    "optimization_level": "preset",
    "canonicalize": "disable_passes",
    "profile_pass": "timing",
    "print_pass_times": "timing",
    "print_trace_begin": "print_ir_before",
    "edit_ir_before": "print_ir_before",
    "edit_ir_after": "print_ir_after",
    "hyperparams": "subs",
    "use_bound_check": "checks",
}


def option(
    default: Any,
    summary: str,
    owner: str = CORE,
    neutral: tuple[object, ...] = (),
) -> Any:
    """Declare an option.

    Args:
        default: The value when it is not given.
        summary: One line for the table of options.
        owner: The distribution that makes the option mean something.
        neutral: Values, besides the default, that ask nothing of the owner.
    """
    metadata = {_OWNER: owner, _SUMMARY: summary, _NEUTRAL: (default, *neutral)}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class OptionRow:
    """One option: what ``wave explain`` and the documentation list.

    Attributes:
        name: The keyword.
        owner: The distribution that it belongs to.
        type: Its type as written.
        default: The value when it is not given.
        summary: One line.
    """

    name: str
    owner: str
    type: str
    default: object
    summary: str


def rows_of(cls: Any) -> tuple[OptionRow, ...]:
    """The options that a dataclass declares with ``option``, in order."""
    return tuple(
        OptionRow(
            row.name,
            row.metadata[_OWNER],
            str(row.type),
            row.default,
            row.metadata[_SUMMARY],
        )
        for row in fields(cls)
        if _OWNER in row.metadata
    )


@dataclass(frozen=True)
class ForeignOption:
    """An option of another package that is given.

    Attributes:
        owner: The distribution that makes it mean something.
        value: Other than the default.
        asks: Whether it needs the owner: one that only declines what the owner does
            holds without it.
    """

    owner: str
    value: object
    asks: bool


def foreign_options(options: Any) -> dict[str, ForeignOption]:
    """The options of other packages that differ from their defaults."""
    found: dict[str, ForeignOption] = {}
    for row in fields(options):
        owner = row.metadata.get(_OWNER, CORE)
        value = getattr(options, row.name)
        if owner != CORE and not _same(value, row.default):
            asks = not any(_same(value, each) for each in row.metadata[_NEUTRAL])
            found[row.name] = ForeignOption(owner, value, asks)
    return found


def _same(value: object, other: object) -> bool:
    return value is other or (type(value) is type(other) and value == other)

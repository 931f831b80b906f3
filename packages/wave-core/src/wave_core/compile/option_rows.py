"""How one compile option is declared: default, owner, role; and the table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from typing import Any

#: Where the metadata of a field says what else is declared.
_DECLARED = "wave_declared"

CORE = "wave-core"
MEMORY = "wave-passes-memory"
SCHEDULING = "wave-passes-scheduling"
AMDGPU = "wave-backend-amdgpu"


class Role(Enum):
    """The part of compilation that an option decides."""

    RESULT = "what is compiled"
    REPORT = "what is told on the way: the compilation itself is wanted"
    LAUNCH = "how a compiled kernel is run"


def _field(default: Any, owner: str, **declared: Any) -> Any:
    return field(default=default, metadata={_DECLARED: {"owner": owner, **declared}})


def option(
    default: Any,
    summary: str,
    role: Role = Role.RESULT,
    *,
    at_least: float = -math.inf,
) -> Any:
    """Declare an option of core; of a number, the smallest that means something."""
    return _field(default, CORE, summary=summary, role=role, at_least=at_least)


def of_pass(default: Any, owner: str, setting: str) -> Any:
    """Front an option of a pass, which declares the meaning.

    Args:
        default: That of the pass; a test compares type and default.
        owner: The distribution that has the pass.
        setting: ``"pass-name.option"`` for an option of a pass; ``"pass-name"`` for
            whether the pass runs.
    """
    return _field(default, owner, setting=setting)


def of_plugin(default: Any, owner: str, role: Role = Role.RESULT) -> Any:
    """Front an option that a plugin declares under the same name."""
    return _field(default, owner, role=role)


@dataclass(frozen=True)
class OptionRow:
    """One option: what ``wave explain`` and the documentation list.

    Attributes:
        name: The keyword.
        owner: The distribution that it belongs to.
        type: Its type as written.
        default: The value when it is not given.
        summary: One line; empty where the owner declares the option.
        setting: The pass that it is about, and the option of the pass.
        role: What it decides.
        at_least: The smallest number that it takes.
    """

    name: str
    type: str
    default: object
    owner: str
    summary: str = ""
    setting: str = ""
    role: Role = Role.RESULT
    at_least: float = -math.inf


@cache
def rows_of(cls: Any) -> tuple[OptionRow, ...]:
    """The options that a dataclass declares with these functions, in order."""
    return tuple(
        OptionRow(row.name, str(row.type), row.default, **row.metadata[_DECLARED])
        for row in fields(cls)
        if _DECLARED in row.metadata
    )


def given(options: Any) -> Iterator[tuple[OptionRow, object]]:
    """The options that differ from their defaults, each with its value."""
    for row in rows_of(options.__class__):
        value = getattr(options, row.name)
        same = type(value) is type(row.default) and value == row.default
        if value is not row.default and not same:
            yield row, value

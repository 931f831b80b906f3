"""Where else there is what a target lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.session import Session
    from wave_core.targets import Target

NO_INSTRUCTION = "WV0702"
"""The code of a matrix instruction that a target lacks."""


def with_targets(error: UserError, session: Session) -> UserError:
    """The error, with the targets that have the matrix instruction it misses."""
    (found,) = error.diagnostics
    names = [
        name
        for name in session.plugins.targets
        if _has(session.target(name), found.data)
    ]
    listed = ", ".join(names) or "none that is installed"
    return UserError(replace(found, help=(*found.help, f"targets with it: {listed}")))


def _has(target: Target, wanted: Mapping[str, object]) -> bool:
    if "instruction" in wanted:
        return any(r.name == wanted["instruction"] for r in target.matrix_instructions)
    return any(
        str(dtype) == wanted.get("operands")
        and bool(row.scale_block) == wanted.get("scaled")
        for row in target.matrix_instructions
        for dtype in row.operand_dtypes
    )

"""The explanation of a code, as `wave explain` prints it."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING

from wave_core.diagnostics.codes import catalogue, declaring_package
from wave_core.diagnostics.errors import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics.code import Code
    from wave_core.diagnostics.exception_types import UserError


def explain(code: str, known: Mapping[str, Code] | None = None) -> str:
    """The title and the explanation of a code.

    Args:
        code: its name, in any case.
        known: the codes of core and of plugins; those of core by default.

    Raises:
        UserError: WV0820, there is no such code, or its package is not installed.
    """
    rows = catalogue() if known is None else known
    name = code.strip().upper()
    if name not in rows:
        raise _unknown(name, rows)
    row = rows[name]
    return f"{row.name}: {row.title}\n\n{cleandoc(row.explanation)}\n"


def _unknown(name: str, rows: Mapping[str, Code]) -> UserError:
    package = declaring_package(name)
    if package and not any(declaring_package(each) == package for each in rows):
        return user_error(
            "WV0820",
            f"codes like `{name}` belong to package {package}, which is not installed",
            help=f"pip install {package}, or enable its plugin",
        )
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    similar = get_close_matches(name, rows, n=3, cutoff=0.75)
    hints = [f"did you mean {' or '.join(similar)}?"] if similar else []
    hints.append("`wave explain` lists them all")
    return user_error("WV0820", f"there is no diagnostic code `{name}`", help=hints)

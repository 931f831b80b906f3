"""What `wave explain` prints about a code."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING

from wave_core.diagnostics.codes import catalogue
from wave_core.diagnostics.errors import user_error

if TYPE_CHECKING:
    from wave_core.diagnostics.codes import Catalogue


def explain(code: str, known: Catalogue | None = None) -> str:
    """The title and the explanation of a code.

    Args:
        code: its name, in any case.
        known: the codes of Wave and of plugins; Wave's own by default.

    Raises:
        UserError: WV0820, there is no such code.
    """
    rows = catalogue() if known is None else known
    name = code.strip().upper()
    if name not in rows:
        similar = rows.similar(name)
        hints = (f"did you mean {' or '.join(similar)}?",) if similar else ()
        raise user_error("WV0820", f"there is no diagnostic code `{code}`", help=hints)
    row = rows[name]
    return f"{row.name}: {row.title}\n\n{cleandoc(row.explanation)}\n"

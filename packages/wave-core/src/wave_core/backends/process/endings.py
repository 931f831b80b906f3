"""What to say where a compiler ends without an answer; its input is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_core.ir import Graph


def ended(
    how: str, graph: Graph, text: str, ending: str, notes: Iterable[str] = ()
) -> Exception:
    """The error WV0606.

    Args:
        how: Which program it was, and how it ended.
        graph: The kernel.
        text: What the program was given, which is saved.
        ending: Of the name of the file, such as ``.mlir``.
        notes: What else explains it.
    """
    return user_error(
        "WV0606",
        how,
        at=graph.location,
        label="compiling this kernel",
        notes=(_saved(text, graph.name + ending), *notes),
        help=(
            "another tile, schedule or preset asks for other code",
            "plugin_options: `compiler_time_limit_s`, `compiler_memory_limit_mib`",
            "report it, with the saved input",
        ),
    )


def _saved(text: str, name: str) -> str:
    try:
        path = Path(tempfile.mkdtemp(prefix="wave-")) / name
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"its input cannot be saved: {error.strerror}"
    return f"its input is saved as {path}"

"""What is said where the compiler ends without an answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_amdgpu.compile.request import Request
    from wave_core.ir import Graph


def compiler_ended(how: str, request: Request, graph: Graph) -> Exception:
    """The error that names the kernel, how the compiler ended, and its saved input."""
    return user_error(
        "WV0606",
        f"the compiler of `{graph.name}` {how}",
        at=graph.location,
        label="compiling this kernel",
        notes=(_saved(request, graph.name), f"its options: {' '.join(request.flags)}"),
        help=(
            "another tile, schedule or preset asks for other code",
            "plugin_options: `compiler_time_limit_s`, `compiler_memory_limit_mib`",
            "report it, with the saved input",
        ),
    )


def _saved(request: Request, name: str) -> str:
    try:
        folder = Path(tempfile.mkdtemp(prefix="wave-"))
        path = folder / f"{name}.mlir"
        path.write_text(request.text, encoding="utf-8")
    except OSError as error:
        return f"its input cannot be saved: {error.strerror}"
    return f"its input is saved as {path}"

"""Asks LLVM and the assembler; says what they refuse, or how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_core.backends.process.endings import ended
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.assemble import Assembled
    from wave_backend_nvgpu.compile.request import Answer, Request
    from wave_backend_nvgpu.compile.tools import Tool
    from wave_backend_nvgpu.compile.worker import Worker
    from wave_core.ir import Graph


def ask_llvm(
    request: Request, worker: Worker | None, time_limit_s: float, graph: Graph
) -> str:
    """The PTX of LLVM IR.

    Args:
        request: What to compile.
        worker: Where to compile; ``None`` is in this process.
        time_limit_s: Seconds that the worker may take.
        graph: The kernel.

    Raises:
        UserError: WV0604 where LLVM refuses, WV0606 where it crashes or reaches a
            limit.
    """
    answer = _answered(request, worker, time_limit_s)
    if answer.failure:
        how = f"the code generator of `{graph.name}` {answer.failure}"
        raise ended(how, graph, request.text, ".ll")
    if answer.errors:
        line, column = answer.place or (None, None)
        first, *others = answer.errors
        raise _refused("LLVM IR", request.text, line, column, (first, *others), graph)
    return answer.ptx


def _answered(request: Request, worker: Worker | None, time_limit_s: float) -> Answer:
    if worker is not None:
        return worker.run(request, time_limit_s)
    # LLVM is loaded when something is compiled.
    from wave_backend_nvgpu.compile.inprocess import InProcess  # noqa: PLC0415

    return InProcess().run(request)


def ask_assembler(
    text: str, target: str, tool: Tool, limits: Limits, graph: Graph, *, lines: bool
) -> Assembled:
    """The machine code of PTX.

    Raises:
        UserError: WV0604 where the assembler refuses, or gives up what makes the kernel
            fast; WV0606 where it crashes or reaches a limit.
    """
    done = assemble(text, target, tool, limits, lines=lines)
    if done.failure:
        how = f"the assembler of `{graph.name}` {done.failure}"
        raise ended(how, graph, text, ".ptx")
    remarks = done.remarks
    if remarks.errors:
        raise _refused("PTX", text, remarks.line, None, remarks.errors, graph)
    if remarks.lost:
        first, *others = remarks.lost
        raise user_error(
            "WV0604",
            f"the assembler gives up what makes `{graph.name}` fast: {first}",
            at=graph.location,
            label="this kernel",
            notes=others,
            help=(
                "`wave compile --emit ptx` shows what it was given",
                "another tile, schedule or preset asks for other code",
            ),
            lost=first,
        )
    return done


def _refused(
    what: str,
    text: str,
    line: int | None,
    column: int | None,
    errors: tuple[str, ...],
    graph: Graph,
) -> Exception:
    """What a tool says of a text, with the line of the text."""
    first, *others = errors
    rows = text.splitlines()
    notes: list[str] = []
    if line is not None and 1 <= line <= len(rows):
        where = f"line {line}" if column is None else f"line {line}, column {column}"
        notes.append(f"{where}: {rows[line - 1].strip()}")
    form = "ptx" if what == "PTX" else "llvm"
    return user_error(
        "WV0604",
        f"the {what} of `{graph.name}` is malformed: {first}",
        at=graph.location,
        label="this kernel",
        notes=(*notes, *others),
        help=f"`wave compile --emit {form}` shows the {what} that Wave writes",
        line=line,
        column=line and (column or 1),
    )

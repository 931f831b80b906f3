"""Asks the compiler, and says what it refuses, or how it ended, as diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.compile.request import Answer, Form, Request
from wave_core.backends.process.endings import ended
from wave_core.diagnostics import plugin_error, user_error

if TYPE_CHECKING:
    from wave_backend_amdgpu.compile.worker import Worker
    from wave_core.backends import ModulePass
    from wave_core.ir import Graph


def ask(
    request: Request,
    worker: Worker | None,
    time_limit_s: float,
    graph: Graph,
    passes: tuple[ModulePass, ...] = (),
) -> Answer:
    """The compiler's answer.

    Args:
        request: What to compile, with the steps of ``passes``.
        worker: Where to compile; ``None`` is in this process.
        time_limit_s: Seconds that the worker may take.
        graph: The kernel.
        passes: What plugins do with the module.

    Raises:
        UserError: WV0604 where the compiler refuses, WV0606 where it crashes or
            reaches a limit.
        PluginError: WV0607 where a plugin's pass fails.
    """
    if worker is not None:
        answer = worker.run(request, time_limit_s)
    else:
        # The compiler is loaded when something is compiled.
        from wave_backend_amdgpu.compile.inprocess import InProcess  # noqa: PLC0415

        answer = InProcess().run(request)
    if answer.failure:
        how = f"the compiler of `{graph.name}` {answer.failure}"
        options = f"its options: {' '.join(request.flags)}"
        raise ended(how, graph, request.text, ".mlir", [options])
    if answer.failed is not None:
        raise _failed(passes[answer.failed], answer.errors, graph)
    if answer.errors:
        raise _refused(answer, request, graph)
    name = graph.name
    descriptor = f"{name}.kd".encode()
    if request.form is Form.CODE and descriptor not in answer.output:
        raise user_error(
            "WV0604",
            f"the compiler refused `{name}`: the MLIR has no kernel `{name}`",
            at=graph.location,
            help="`wave compile --emit mlir` shows what it was given",
        )
    return answer


def _failed(step: ModulePass, errors: tuple[str, ...], graph: Graph) -> Exception:
    return plugin_error(
        "WV0607",
        f"pass `{step.name}` of plugin {step.plugin} failed on the MLIR of"
        f" `{graph.name}`: {errors[0]}",
        at=graph.location,
        label="compiling this kernel",
        notes=errors[1:],
        help=f"report it to the authors of plugin {step.plugin}, or leave it out",
    )


def _refused(answer: Answer, request: Request, graph: Graph) -> Exception:
    first, *others = answer.errors
    if answer.place is None:
        return user_error(
            "WV0604",
            f"the compiler refused `{graph.name}`: {first}",
            at=graph.location,
            notes=others,
            help="`wave compile --emit mlir` shows what it was given",
        )
    line, column = answer.place
    text = request.text.splitlines()[line - 1].strip()
    return user_error(
        "WV0604",
        f"the MLIR given for `{graph.name}` is malformed: {first}",
        at=graph.location,
        label="this kernel",
        notes=(f"line {line}, column {column}: {text}", *others),
        help="`wave compile --emit mlir` shows what it stands in for",
        line=line,
        column=column,
    )

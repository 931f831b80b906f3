"""Passes of plugins on the module, in the process of the compiler."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

from wave_backend_amdgpu.bindings import CompilerError, EditedModule
from wave_backend_amdgpu.compile.request import Answer, Request, Step


@dataclass(frozen=True)
class ModuleRequest:
    """The kernel and the options for a pass on a module.

    Attributes:
        kernel: The kernel's name, which its function has too.
        target: The machine's name: ``gfx942``.
        options: What its plugin declares.
    """

    kernel: str
    target: str
    options: Mapping[str, Any]


def edited(request: Request) -> Request | Answer:
    """The request after its steps, or why there is nothing to compile."""
    if not request.steps and not request.verified:
        return request
    try:
        module = EditedModule(request.text)
    except CompilerError as error:
        return refused(error)
    sys.path += [each for each in request.path if each not in sys.path]
    text = request.text
    for position, step in enumerate(request.steps):
        try:
            _run(step, module.module, request)
            text = module.text()
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            why = str(error) if isinstance(error, CompilerError) else _described(error)
            return Answer(errors=(why,), failed=position)
    return msgspec.structs.replace(request, text=text)


def _run(step: Step, module: Any, request: Request) -> None:
    name, _, function = step.target.partition(":")
    transform = getattr(import_module(name), function)
    found = transform(
        module, ModuleRequest(request.kernel, request.target, step.options)
    )
    if found is not None:
        message = f"it returns {found!r}; a pass changes the module that it is given"
        raise TypeError(message)


def _described(error: Exception) -> str:
    """The exception, and the plugin's line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{where}"


def refused(error: CompilerError) -> Answer:
    """The compiler's messages as an answer."""
    rows = [m.text for m in error.messages if m.severity == "error"]
    return Answer(errors=tuple(rows or [str(error)]), place=error.place)

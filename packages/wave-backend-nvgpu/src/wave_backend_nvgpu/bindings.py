# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# The code generator's Python package has no types.
"""LLVM by llvmlite: the only module that imports it.

What LLVM knows of NVIDIA GPUs is in its text form, which differs between releases, so
the releases that are claimed are those in `deps/tested.txt`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

VERSION = str(llvmlite.__version__)
"""The package's version, which decides that of LLVM."""

TRIPLE = "nvptx64-nvidia-cuda"

LEVEL = 3
"""Of optimization, as in ``-O3``."""

_SINKING = "--sink-insts-to-avoid-spills"
"""The option of LLVM, which the whole process has."""

_PLACE = re.compile(r"<string>:(\d+):(\d+): error: ([^\n]*)")
"""How LLVM prints a place in a text that is no file."""


class CompilerError(Exception):
    """LLVM refused a module.

    Attributes:
        messages: What it said.
        place: Line and column of the first message in the text of the module.
    """

    def __init__(
        self, messages: tuple[str, ...], place: tuple[int, int] | None = None
    ) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages
        self.place = place


@dataclass(frozen=True)
class _Machine:
    """LLVM's state for one GPU and one version of PTX."""

    machine: Any
    builder: Any


class Compiler:
    """LLVM, and what it keeps between modules. One thread at a time."""

    def __init__(self) -> None:
        """Prepare LLVM's code generators."""
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self._machines: dict[tuple[str, str], _Machine] = {}

    def ptx(
        self,
        text: str,
        target: str,
        features: str,
        *,
        verified: bool,
        sinking: bool = False,
    ) -> str:
        """The PTX of a module.

        Args:
            text: LLVM IR.
            target: The GPU as LLVM names it, such as ``sm_90a``.
            features: What else the code may use, such as ``+ptx83``.
            verified: Whether the module was written by hand, and is to be checked.
            sinking: Whether cheap instructions that a loop could keep the results of
                go into it.

        Raises:
            CompilerError: where the module is malformed. Of what LLVM cannot select it
                ends the process.
        """
        module = _parsed(text)
        if verified:
            _verify(module)
        module.triple = TRIPLE
        made = self._machine(target, features)
        llvm.set_option("", f"{_SINKING}={str(sinking).lower()}")
        made.builder.getModulePassManager().run(module, made.builder)
        return str(made.machine.emit_assembly(module))

    def _machine(self, target: str, features: str) -> _Machine:
        found = self._machines.get((target, features))
        if found is None:
            found = self._machines[target, features] = _machine_of(target, features)
        return found


def _machine_of(target: str, features: str) -> _Machine:
    made = llvm.Target.from_triple(TRIPLE)
    machine: Any = made.create_target_machine(cpu=target, features=features, opt=LEVEL)
    tuning = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    return _Machine(machine, llvm.create_pass_builder(machine, tuning))


def _parsed(text: str) -> Any:
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        found = _PLACE.search(str(error))
        if found is None:
            raise CompilerError(_lines(error)) from None
        place = int(found[1]), int(found[2])
        raise CompilerError((found[3],), place) from None


def _verify(module: Any) -> None:
    try:
        module.verify()
    except RuntimeError as error:
        raise CompilerError(_lines(error)) from None


def _lines(error: RuntimeError) -> tuple[str, ...]:
    rows = (row.strip() for row in str(error).splitlines())
    return tuple(row for row in rows if row) or ("no reason given",)

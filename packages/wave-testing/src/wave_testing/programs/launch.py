"""A program through the front door: `wave_compile`, and a call of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile import WaveCompileOptions
from wave_core.compile import wave_compile
from wave_core.diagnostics import UserError
from wave_testing.programs.arguments import differences
from wave_testing.programs.check import Discarded
from wave_testing.programs.check import ProgramFailure
from wave_testing.programs.check import default_session
from wave_testing.programs.execute import Execution
from wave_testing.programs.kernel import bindings
from wave_testing.programs.kernel import program_kernel

if TYPE_CHECKING:
    from wave_core.compile import Session
    from wave_testing.programs.model import Program


def launch_program(
    program: Program, *, device: str = "sim", session: Session | None = None
) -> None:
    """Compile the program as users do, call it, and compare its outputs.

    Sizes that no argument shows to the launch are bound when compiling.

    Raises:
        ProgramFailure: where an output is wrong.
        Discarded: where the compiler or the launch refuses with a coded error.
    """
    execution = Execution(program)
    shown = {name for memory in program.memories for name in memory.dims}
    dynamic = [d.name for d in program.dims if d.dynamic and d.name in shown]
    hidden = {
        d.name: d.extent for d in program.dims if d.dynamic and d.name not in shown
    }
    options = WaveCompileOptions(
        subs={**bindings(program), **hidden},
        dynamic_symbols=[tkl.index_symbol(name) for name in dynamic],
        device=device,
    )
    arguments = [a if a.ndim else a.item() for a in execution.arguments()]
    try:
        session = session or default_session()
        wave_compile(options, program_kernel(program), session=session)(*arguments)
    except UserError as error:
        raise Discarded.of(error) from error
    wrong = differences(program, arguments, execution.reference)
    if wrong:
        raise ProgramFailure(program, "launch", "wrong result", "; ".join(wrong))

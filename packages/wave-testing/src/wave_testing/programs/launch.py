"""A program through the front door: `wave_compile`, and a call of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.compile.devices import find_device
from wave_core.diagnostics import InternalError, SimulationError, UserError
from wave_testing.programs.arguments import stray_writes
from wave_testing.programs.check import Discarded, ProgramFailure, default_session
from wave_testing.programs.execute import TARGET, Execution
from wave_testing.programs.kernel import bindings, program_kernel
from wave_testing.programs.store import for_target

if TYPE_CHECKING:
    from wave_testing.programs.model import Program


def launch_program(
    program: Program,
    *,
    device: str = "sim",
    target: str = TARGET,
    session: Session | None = None,
    **options: Any,
) -> list[Any]:
    """Compile the program as users do, call it, and compare its outputs.

    Sizes that no argument shows to the launch are bound when compiling.

    Args:
        program: The program.
        device: What runs it.
        target: What it is compiled for.
        session: Whose plugins to use; all that are installed by default.
        options: Further fields of `WaveCompileOptions`, such as ``preset``.

    Returns:
        The arguments after the launch.

    Raises:
        ProgramFailure: where an output is wrong, or the device reports an error.
        Discarded: where the compiler or the launch refuses with a coded error.
    """
    session = session or default_session()
    program = for_target(program, session.target(target))
    execution = Execution(program)
    shown = {name for memory in program.memories for name in memory.dims}
    dynamic = [d.name for d in program.dims if d.dynamic and d.name in shown]
    hidden = {
        d.name: d.extent for d in program.dims if d.dynamic and d.name not in shown
    }
    asked = WaveCompileOptions(
        subs={**bindings(program), **hidden},
        dynamic_symbols=[tkl.index_symbol(name) for name in dynamic],
        device=device,
        target=target,
        **options,
    )
    strided = find_device(session, device, target).spec.strided
    given = execution.arguments(strided=strided)
    arguments = [a if a.ndim else a.item() for a in given]
    try:
        wave_compile(asked, program_kernel(program), session=session)(*arguments)
    except SimulationError as error:
        codes = ", ".join(sorted({str(row.code) for row in error.diagnostics}))
        raise ProgramFailure(program, "launch", f"reports {codes}", error) from error
    except UserError as error:
        raise Discarded.of(error) from error
    except InternalError as error:
        raise ProgramFailure(program, "launch", "internal error", error) from error
    wrong = execution.wrong(arguments)
    wrong += stray_writes(program, arguments)
    if wrong:
        raise ProgramFailure(program, "launch", "wrong result", "; ".join(wrong))
    return arguments

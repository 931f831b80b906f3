"""How to compile, as the options ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.options import CodeOptions
from wave_backend_nvgpu.compile.tools import (
    VARIABLE,
    WHEELS,
    MissingToolError,
    find_assembler,
)
from wave_backend_nvgpu.compile.worker import Worker, default_worker
from wave_backend_nvgpu.plugin import ASSEMBLER, OVERRIDE_LLVM, OVERRIDE_PTX, REGISTERS
from wave_core.backends.options import (
    DEBUG_LINES,
    IN_PROCESS,
    LIMITS,
    MEMORY_LIMIT,
    TIME_LIMIT,
)
from wave_core.compile.dump import Dumps
from wave_core.compile.option_values import text_option
from wave_core.diagnostics import Location, user_error

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.tools import Tool
    from wave_core.compile.options import WaveCompileOptions


@dataclass(frozen=True)
class Settings:
    """How to compile.

    Attributes:
        code: The knobs of code generation.
        llvm: LLVM IR to use instead of what is generated.
        ptx: PTX to use instead of what LLVM writes.
        assembler: The path of the assembler; ``None`` is the first that there is.
        lines: Whether the user's lines go into the machine code.
        worker: Where LLVM runs; ``None`` is in this process, which ends where it
            crashes.
        time_limit_s: Seconds that each tool may take.
        memory_limit_mib: Memory that each tool may hold, in MiB.
        dumps: Where the stages are written.
        location: Where the user asks for all this.
    """

    code: CodeOptions = field(default_factory=CodeOptions)
    llvm: str | None = None
    ptx: str | None = None
    assembler: str | None = None
    lines: bool = False
    worker: Worker | None = field(default_factory=default_worker)
    time_limit_s: int = LIMITS[TIME_LIMIT]
    memory_limit_mib: int = LIMITS[MEMORY_LIMIT]
    dumps: Dumps = field(default_factory=Dumps)
    location: Location | None = field(default=None, compare=False)

    def find_assembler(self) -> Tool | None:
        """The assembler; ``None`` where code stays PTX.

        Raises:
            UserError: WV0823 where the path that is given is no assembler.
        """
        try:
            return find_assembler(self.assembler)
        except MissingToolError as error:
            by = f"option `{ASSEMBLER}`" if self.assembler else f"variable {VARIABLE}"
            raise user_error(
                "WV0823",
                f"{by} is {str(error)!r}, which is not NVIDIA's assembler",
                at=self.location if self.assembler else None,
                label="given here",
                help=(
                    "give the path of `ptxas`, or `none` to keep PTX",
                    f"pip install {WHEELS['ptxas']} brings one that is found",
                ),
            ) from None


def settings_of(options: WaveCompileOptions, worker: Worker | None = None) -> Settings:
    """The settings that compile options ask for.

    Args:
        options: The options.
        worker: The process of LLVM, unless ``compile_in_process`` asks for none.

    Raises:
        UserError: WV0823 for text that no file can hold.
    """
    others = options.plugin_options
    return Settings(
        CodeOptions(
            fast_math=options.use_fast_math,
            most_registers=_number(options, REGISTERS),
        ),
        llvm=text_option(options, OVERRIDE_LLVM),
        ptx=text_option(options, OVERRIDE_PTX),
        assembler=text_option(options, ASSEMBLER),
        lines=bool(others.get(DEBUG_LINES)),
        worker=None if others.get(IN_PROCESS) else worker or default_worker(),
        time_limit_s=_number(options, TIME_LIMIT) or LIMITS[TIME_LIMIT],
        memory_limit_mib=_number(options, MEMORY_LIMIT) or LIMITS[MEMORY_LIMIT],
        dumps=Dumps(
            options.dump_intermediates, options.dump_binaries, options.location
        ),
        location=options.location,
    )


def _number(options: WaveCompileOptions, name: str) -> int | None:
    found = options.plugin_options.get(name)
    assert found is None or isinstance(found, int), "checked with the options"
    return found

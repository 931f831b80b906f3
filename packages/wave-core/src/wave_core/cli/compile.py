"""``wave compile KERNEL``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.files import tell_written, write_files
from wave_core.cli.load import find_case, open_session, settled_case
from wave_core.cli.output import print_json, print_text
from wave_core.cli.passes import (
    CompileOptions,
    Disabled,
    Passes,
    Settings,
    Via,
    option_changes,
    pass_changes,
)
from wave_core.diagnostics import Label, Location, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.compile.emission import Emitted
    from wave_core.compile.kernels import KernelCase


app = typer.Typer(add_completion=False)


@app.command(name="compile")
def compile_kernel(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    target: str = typer.Option(help="The machine to compile for: gfx942, sm_90a."),
    emit: str | None = typer.Option(
        None,
        help="What to make: mlir, llvm, asm, ptx, vmfb; what is launched by default.",
    ),
    output: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, "-o", "--output", help="A folder for the files; text goes to stdout."
    ),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    preset: str | None = typer.Option(None, help="A named configuration."),
    via: Via = "",
    passes: Passes = "",
    disable: Disabled = "",
    set_pass: Settings = [],  # noqa: B006 - typer's form
    option: CompileOptions = [],  # noqa: B006 - typer's form
    override_mlir: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A file of MLIR to use instead of what is generated."
    ),
    override_llvm: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="The same with LLVM IR, for NVIDIA GPUs."
    ),
    override_ptx: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="The same with PTX, for NVIDIA GPUs."
    ),
    override_asm: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="The same with assembly of AMD GPUs; implies --via asm."
    ),
    debug: bool = typer.Option(  # noqa: FBT001 - a flag
        False, "--debug", help="Put the kernel's lines into the code object."
    ),
    dump: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, help="A folder for the files of every stage."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Compile a kernel; no GPU is needed."""
    # The compiler loads torch; other commands go without.
    from wave_core.compile.backends import backend_of  # noqa: PLC0415
    from wave_core.compile.emission import emit as emit_files  # noqa: PLC0415

    via = _via(via, override_asm)
    session = open_session()
    case = find_case(session, kernel, shape, settings, target)
    texts = {
        "override_llvm": override_llvm,
        "override_ptx": override_ptx,
        "override_asm": override_asm,
    }
    given = {name: _override(name, path) for name, path in texts.items() if path}
    lines = {"debug_lines": True} if debug else {}
    changes = {
        "preset": preset,
        "backend": via or None,
        "override_mlir": _override("override_mlir", override_mlir),
        "dump_intermediates": None if dump is None else str(dump),
        **option_changes(option, case.options, session.plugins, {**given, **lines}),
        **pass_changes(case.options, passes, disable, set_pass),
    }
    case = settled_case(session, case, changes)
    started = time.perf_counter()
    try:
        form = emit or backend_of(session, case.options.target_name, via).artifact
        found = emit_files(case.options, case.kernel, form, session)
    except UserError as error:
        path = override_asm or override_ptx or override_llvm or override_mlir
        raise _in_file(error, path) from None
    elapsed = time.perf_counter() - started
    paths = [] if output is None else write_files(output, found.files)
    if json:
        print_json(_told(case, found, elapsed, paths))
    elif output is None:
        _print(found.files)
    else:
        tell_written(paths)


def _told(
    case: KernelCase, found: Emitted, elapsed_s: float, paths: Sequence[Path]
) -> dict[str, object]:
    return {
        "kernel": case.kernel.name,
        "target": case.options.target_name,
        "key": found.key,
        "cached": found.cached,
        "seconds": elapsed_s,
        "files": {name: len(data) for name, data in found.files.items()},
        "written": [str(path) for path in paths],
    }


def _via(via: str, override_asm: Path | None) -> str:
    """The backend; another one than `asm` would not look at assembly that is given.

    Raises:
        typer.BadParameter: where another one is asked for.
    """
    if override_asm is None:
        return via
    if via not in {"", "asm"}:
        raise typer.BadParameter(f"--override-asm is for --via asm, not --via {via}")
    return "asm"


def _override(name: str, path: Path | None) -> str | None:
    """The text of a file.

    Raises:
        typer.BadParameter: where it cannot be read, is no text or has none.
    """
    if path is None:
        return None
    where = f"--{name.replace('_', '-')} {path}"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"{where}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        why = f"byte 0x{error.object[error.start]:02x} in line {line} is no UTF-8"
        raise typer.BadParameter(f"{where}: {why}") from None
    if not text.strip():
        raise typer.BadParameter(f"{where}: there is nothing in it")
    return text.replace("\r\n", "\n")


def _in_file(error: UserError, path: Path | None) -> UserError:
    """The error, at the line of the file that it is about."""
    (found, *others), data = error.diagnostics, error.diagnostics[0].data
    line, column = data.get("line"), data.get("column")
    if path is None or not (isinstance(line, int) and isinstance(column, int)):
        return error
    where = Label(Location.of_span(str(path), line, column))
    kernel = () if found.primary is None else (found.primary,)
    return UserError([replace(found, primary=where, secondary=kernel), *others])


def _print(files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        text = _text(data)
        if text is None:
            raise typer.BadParameter(f"{name} is binary; say where with -o DIR")
        print_text(text)


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8") if b"\0" not in data else None
    except UnicodeDecodeError:
        return None

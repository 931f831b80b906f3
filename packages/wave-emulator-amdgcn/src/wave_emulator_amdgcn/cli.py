"""``wave emulate``: run a code object from the command line."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.lib import format as npy

from wave_emulator_amdgcn.codeobject import CodeObject, load
from wave_emulator_amdgcn.costs.estimate import estimate, timeline_of
from wave_emulator_amdgcn.costs.svg import draw
from wave_emulator_amdgcn.errors import EmulatorError, LaunchError
from wave_emulator_amdgcn.launch import LaunchOptions, LaunchResult, emulate

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array

_SPEC = re.compile(
    r"(?P<shape>\d{1,12}(?:x\d{1,12}){0,15})x(?P<dtype>[fiu]\d+)(?:=(?P<fill>\w+))?",
    re.ASCII,
)
_COUNT = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
_DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip

_MOST_BYTES = 1 << 34
"""Of one buffer: more is a slip of the pen."""


def parse_buffer(text: str, seed: int) -> Array:
    """A buffer of ``4096xf32``, ``=zeros``, ``=ones``, ``=random``; or a .npy file.

    Raises:
        LaunchError: EM0202, it is neither.
    """
    found = _SPEC.fullmatch(text)
    if found is None:
        if text.endswith(".npy") and Path(text).is_file():
            return _loaded(text)
        raise LaunchError(
            "EM0202", f"buffer {text!r}; write 4096xf32=random or FILE.npy"
        )
    dtype = _DTYPES.get(found["dtype"])
    fill = found["fill"] or "zeros"
    if dtype is None or fill not in ("zeros", "ones", "random"):
        raise LaunchError("EM0202", f"buffer {text!r}: unknown type or filling")
    shape = tuple(int(part) for part in found["shape"].split("x"))
    # Random numbers are drawn as f64 and i64.
    size = math.prod(shape) * (8 if fill == "random" else np.dtype(dtype).itemsize)
    if size > _MOST_BYTES:
        raise LaunchError("EM0202", f"buffer {text!r} takes {size} bytes")
    try:
        return _filled(shape, np.dtype(dtype), fill, seed)
    except MemoryError:
        message = f"buffer {text!r} takes {size} bytes, more than are free"
        raise LaunchError("EM0202", message) from None


def _loaded(text: str) -> Array:
    """The array of a file.

    Raises:
        LaunchError: EM0202, it holds none, or none of numbers.
    """
    try:
        with Path(text).open("rb") as file:
            found = npy.read_array(file, allow_pickle=False)
    except (ValueError, MemoryError) as error:
        raise LaunchError("EM0202", f"buffer {text!r} is no array: {error}") from None
    if found.dtype.kind not in "biufV":
        raise LaunchError("EM0202", f"buffer {text!r} is no array of numbers")
    return np.ascontiguousarray(found).copy()


def _filled(shape: tuple[int, ...], kind: np.dtype[Any], fill: str, seed: int) -> Array:
    if fill != "random":
        return np.full(shape, fill == "ones", kind)
    rng = np.random.default_rng(seed)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 100, shape).astype(kind)


def parse_grid(text: str) -> tuple[int, int, int]:
    """``16`` or ``16,4`` or ``16,4,2``.

    Raises:
        LaunchError: EM0203, it is no grid.
    """
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(map(_COUNT.fullmatch, parts)):
        raise LaunchError("EM0203", f"grid {text!r}; write X,Y,Z")
    numbers = [int(part) for part in parts] + [1, 1]
    return numbers[0], numbers[1], numbers[2]


def emulate_file(  # noqa: PLR0913, PLR0917 - options of the command line
    file: Annotated[Path, typer.Argument(help="A code object (.hsaco).")],
    grid: Annotated[str, typer.Option(help="Workgroups: X, X,Y or X,Y,Z.")] = "1",
    kernel: Annotated[str, typer.Option(help="Which one, where there are more.")] = "",
    buffer: Annotated[
        list[str] | None, typer.Option(help="4096xf32=random, or FILE.npy; in order.")
    ] = None,
    constant: Annotated[
        list[int] | None, typer.Option(help="A 32-bit argument; in order.")
    ] = None,
    output: Annotated[
        list[str] | None, typer.Option(help="INDEX=FILE.npy: save a buffer.")
    ] = None,
    dynamic_lds: Annotated[
        int, typer.Option(help="Bytes of LDS that the launch adds.", min=0)
    ] = 0,
    fast: Annotated[bool, typer.Option(help="No checks for hazards.")] = False,  # noqa: FBT002
    step_limit: Annotated[
        int, typer.Option(help="Most wave-instructions.")
    ] = 200_000_000,
    timeline: Annotated[
        Path | None, typer.Option(help="Draw the waves of one compute unit: FILE.svg.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,  # noqa: FBT002
) -> None:
    """Execute an AMDGCN code object on the CPU and report its hazards."""
    try:
        code = load(file.read_bytes()).with_dynamic_lds(dynamic_lds, kernel or None)
        buffers = [parse_buffer(text, k) for k, text in enumerate(buffer or [])]
        options = LaunchOptions(hazards=not fast, step_limit=step_limit, counters=True)
        result = emulate(
            code, buffers, grid=parse_grid(grid), kernel=kernel or None,
            constants=constant or [], options=options,
        )  # fmt: skip
        _save(output or [], buffers)
        if timeline is not None:
            events = timeline_of(code, code.kernel(kernel or None), result).events
            timeline.write_text(draw(events, result.program), encoding="utf-8")
    except (EmulatorError, OSError) as error:
        _refuse(error, as_json=as_json)
    else:
        _show(code, kernel or None, result, as_json=as_json)
        if result.reports:
            raise typer.Exit(1)


def _save(outputs: list[str], buffers: list[Array]) -> None:
    for text in outputs:
        index, _, path = text.partition("=")
        counts = _COUNT.fullmatch(index) is not None
        if not counts or int(index) >= len(buffers) or not path:
            raise LaunchError("EM0202", f"output {text!r}; write INDEX=FILE.npy")
        np.save(path, buffers[int(index)], allow_pickle=False)


def _refuse(error: Exception, *, as_json: bool) -> None:
    code = error.code if isinstance(error, EmulatorError) else "EM0101"
    if as_json:
        typer.echo(json.dumps({"error": code, "message": str(error)}))
    typer.echo(f"error[{code}]: {error}", err=True)
    raise typer.Exit(1)


def _show(
    code: CodeObject, kernel: str | None, result: LaunchResult, *, as_json: bool
) -> None:
    cost = estimate(code, code.kernel(kernel), result)
    if as_json:
        document = {
            "kernel": code.kernel(kernel).name,
            "architecture": code.architecture.name,
            "waves": result.waves,
            "instructions": result.instructions,
            "reports": [asdict(report) for report in result.reports],
            "counters": cost.counters,
            "cycles": cost.cycles,
            "stalls": cost.stalls,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    name = code.kernel(kernel).name
    typer.echo(f"{name}: {result.waves} waves, {result.instructions} instructions")
    for key, value in {**cost.counters, **cost.cycles}.items():
        typer.echo(f"  {key:28} {value:,.6g}")
    for report in result.reports:
        typer.echo(str(report))

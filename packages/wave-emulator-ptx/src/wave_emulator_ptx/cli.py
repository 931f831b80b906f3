"""``python -m wave_emulator_ptx FILE.ptx``: run a kernel from the command line."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from wave_emulator_ptx.errors import EmulatorError, LaunchError
from wave_emulator_ptx.launch import LaunchOptions, LaunchResult, emulate, load

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array

_SPEC = re.compile(
    r"(?P<shape>\d{1,12}(?:x\d{1,12}){0,15})x(?P<dtype>[fiu]\d+)(?:=(?P<fill>\w+))?",
    re.ASCII,
)
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
_COUNT = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
_FILLS = ("zeros", "ones", "random")
_DTYPES = {
    f"{letter}{8 * size}": np.dtype(f"{letter}{size}")
    for letter, sizes in (("f", (2, 4, 8)), ("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)))
    for size in sizes
}

_MOST_BYTES = 1 << 34
"""Of one buffer: more is a slip of the pen."""


def main(given: Sequence[str] | None = None) -> int:
    """Execute a kernel and report its hazards; 1 where there are any, or an error."""
    asked = _parser().parse_args(given)
    try:
        arguments = [
            parse_argument(text, seed) for seed, text in enumerate(asked.argument)
        ]
        module = load(asked.file.read_text("utf-8"))
        result = emulate(
            module,
            arguments,
            grid=parse_size(asked.grid),
            block=parse_size(asked.block),
            kernel=asked.kernel,
            shared=asked.shared,
            options=LaunchOptions(hazards=not asked.fast, limit=asked.limit),
        )
        _save(asked.output, arguments)
    except (EmulatorError, OSError, UnicodeDecodeError) as error:
        return _refused(error, as_json=asked.json)
    _show(result, as_json=asked.json)
    return bool(result.reports)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("wave_emulator_ptx", description=main.__doc__)
    add = parser.add_argument
    add("file", type=Path, help="a file of PTX")
    add(
        "argument",
        nargs="*",
        help="4096xf32=random, FILE.npy, 17 or 1.5: one for each parameter, in order",
    )
    add("--grid", default="1", help="workgroups: X, X,Y or X,Y,Z")
    add("--block", default="32", help="threads of a workgroup: X, X,Y or X,Y,Z")
    add("--kernel", help="which one, where there are more")
    add("--shared", type=int, default=0, help="bytes of dynamic shared memory")
    add("--output", action="append", default=[], help="INDEX=FILE.npy: save a buffer")
    add("--fast", action="store_true", help="no checks for hazards")
    add("--limit", type=int, default=LaunchOptions.limit, help="warp-instructions")
    add("--json", action="store_true", help="print JSON")
    return parser


def parse_argument(text: str, seed: int) -> Array | int | float:
    """A buffer of ``4096xf32``, with ``=ones`` or ``=random``; a file; a number.

    Raises:
        LaunchError: EP0202, it is none of them.
    """
    found = _SPEC.fullmatch(text)
    if found is not None:
        return _buffer(text, found, seed)
    if text.endswith(".npy") and Path(text).is_file():
        return _loaded(text)
    try:
        return int(text, 0) if _INTEGER.fullmatch(text) else float(text)
    except ValueError:
        raise LaunchError(
            "EP0202", f"argument {text!r}; write 4096xf32=random, FILE.npy or a number"
        ) from None


def _loaded(text: str) -> Array:
    """The array of a file.

    Raises:
        LaunchError: EP0202, it holds none, or none of numbers.
    """
    try:
        with Path(text).open("rb") as file:
            found = npy.read_array(file, allow_pickle=False)
    except (ValueError, MemoryError) as error:
        raise LaunchError("EP0202", f"argument {text!r} is no array: {error}") from None
    if found.dtype.kind not in "biufV":
        raise LaunchError("EP0202", f"argument {text!r} is no array of numbers")
    return np.ascontiguousarray(found).copy()


def _buffer(text: str, found: re.Match[str], seed: int) -> Array:
    kind, fill = _DTYPES.get(found["dtype"]), found["fill"] or "zeros"
    if kind is None or fill not in _FILLS:
        known = f"types {', '.join(_DTYPES)}; fillings {', '.join(_FILLS)}"
        raise LaunchError("EP0202", f"argument {text!r}: {known}")
    shape = [int(part) for part in found["shape"].split("x")]
    # Random numbers are drawn as f64 and i64.
    size = math.prod(shape) * (8 if fill == "random" else kind.itemsize)
    if size > _MOST_BYTES:
        raise LaunchError("EP0202", f"argument {text!r} takes {size} bytes")
    try:
        return _filled(shape, kind, fill, seed)
    except MemoryError:
        message = f"argument {text!r} takes {size} bytes, more than are free"
        raise LaunchError("EP0202", message) from None


def _filled(shape: list[int], kind: np.dtype[Any], fill: str, seed: int) -> Array:
    if fill != "random":
        return np.full(shape, fill == "ones", kind)
    rng = np.random.default_rng(seed)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 100, shape).astype(kind)


def parse_size(text: str) -> tuple[int, int, int]:
    """``16`` or ``16,4`` or ``16,4,2``.

    Raises:
        LaunchError: EP0203, it is no size.
    """
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(map(_COUNT.fullmatch, parts)):
        raise LaunchError("EP0203", f"size {text!r}; write X,Y,Z")
    numbers = [int(part) for part in parts] + [1, 1]
    return numbers[0], numbers[1], numbers[2]


def _save(outputs: Sequence[str], arguments: Sequence[Array | int | float]) -> None:
    for text in outputs:
        index, _, path = text.partition("=")
        counts = _COUNT.fullmatch(index) is not None
        known = counts and int(index) < len(arguments) and path
        data = arguments[int(index)] if known else None
        if not isinstance(data, np.ndarray):
            raise LaunchError("EP0202", f"output {text!r}; write INDEX=FILE.npy")
        np.save(path, data, allow_pickle=False)


def _refused(error: Exception, *, as_json: bool) -> int:
    code = error.code if isinstance(error, EmulatorError) else "EP0101"
    if as_json:
        _say(json.dumps({"error": code, "message": str(error)}))
    sys.stderr.write(f"error: {error}\n")
    return 1


def _show(result: LaunchResult, *, as_json: bool) -> None:
    if as_json:
        rows = [asdict(report) for report in result.reports]
        _say(json.dumps({**asdict(result), "reports": rows}, indent=2))
        return
    _say(f"warps {result.warps}, instructions {result.instructions}")
    for report in result.reports:
        _say(str(report))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")

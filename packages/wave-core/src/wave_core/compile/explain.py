"""Says in words how a compiled kernel runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.compile.compiled import Compiled


def explain_kernel(compiled: Compiled) -> str:
    """Grid, waves, parameters and passes of a kernel, a line each."""
    return "\n".join(_lines(compiled))


def _lines(compiled: Compiled) -> Iterator[str]:
    shape, geometry = compiled.shape, compiled.geometry
    yield f"kernel {shape.signature.kernel}"
    yield f"  target {compiled.target.name}, device {compiled.device.name}"
    grid = " x ".join(map(str, shape.grid))
    waves = " x ".join(map(str, geometry.waves))
    yield f"  grid {grid} workgroups, each of {waves} waves of {geometry.lanes} lanes"
    for row in shape.signature.parameters:
        usage = f" ({row.usage.value})" if row.is_tensor else " (number)"
        yield f"  {row}{usage}"
    for symbol, value in sorted(shape.bindings.items(), key=lambda item: str(item[0])):
        yield f"  {symbol} = {value}"
    for symbol in shape.dynamic:
        yield f"  {symbol} from each launch"
    phase = ""
    for row in compiled.plan.rows():
        if row.runs and row.phase != phase:
            phase = row.phase
            yield f"  {phase}:"
        if row.runs:
            yield f"    {row.name} ({row.provider}): {row.reason}"
    for line in compiled.plan.selection.log:
        yield f"  {line}"

"""Shows what bounds a kernel, for ``wave inspect --what roofline``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.cli.output import out, print_json, print_table, print_text

if TYPE_CHECKING:
    from wave_core.compile.roofline import Roof, Roofline


def show_roofline(found: Roofline, *, as_json: bool) -> None:
    """Print the roofs of a kernel."""
    if as_json:
        print_json(found.to_json())
        return
    print_table(("roof", "peak", "work", "least time"), [_row(r) for r in found.roofs])
    out().print()
    print_text("\n".join(_summary(found)))


def _row(roof: Roof) -> tuple[str, ...]:
    peak = roof.peak_per_ns / 1e3
    return (
        roof.name,
        f"{peak:,.1f} T{roof.unit}/s",
        f"{roof.work:,.0f} {roof.unit}",
        f"{roof.ns / 1e3:,.3f} us",
    )


def _summary(found: Roofline) -> list[str]:
    bound, ns = found.bound, found.bound.ns
    units = f"{found.busy:.0%} of {found.peaks.compute_units} compute units have work"
    rate = f"{found.flops / max(ns, 1e-9) / 1e3:,.1f} TFLOP/s"
    intensity = f"intensity {found.intensity:,.1f} FLOP/B"
    lines = [
        f"bound by {bound.name}: {ns / 1e3:,.3f} us at best, {rate}",
        f"{intensity}, memory binds below {found.ridge:,.1f}",
        f"{found.workgroups:,} workgroups: {units}",
    ]
    if found.work.open_loops:
        lines.append(
            f"{found.work.open_loops} loops with unknown iterations count as one each"
        )
    return lines

"""Shows what bounds a kernel, for ``wave inspect --what roofline``."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from wave_core.cli.files import write_picture
from wave_core.cli.output import out, print_json, print_table, print_text

if TYPE_CHECKING:
    from pathlib import Path

    from wave_core.compile.roofline import Roof, Roofline

#: Units: pixels, and powers of ten on each axis.
_WIDTH, _HEIGHT, _MARGIN = 640, 400, 50
_DECADES = 5


def show_roofline(found: Roofline, svg: Path | None, *, as_json: bool) -> None:
    """Print the roofs of a kernel, and draw them where a file is given."""
    if svg is not None:
        write_picture(svg, picture(found))
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


def picture(found: Roofline) -> str:
    """The roofs over the intensity, both logarithmic, and the kernel under them."""
    compute = [roof for roof in found.roofs if roof.unit == "FLOP" and roof.work]
    top = max((roof.peak_per_ns for roof in compute), default=1.0)
    left = found.ridge / 10 ** (_DECADES / 2)

    def x(intensity: float) -> float:
        decades = min(max(log10(max(intensity, left) / left), 0.0), _DECADES)
        return _MARGIN + decades / _DECADES * (_WIDTH - 2 * _MARGIN)

    def y(rate: float) -> float:
        decades = min(max(log10(top / max(rate, 1e-12)), 0.0), _DECADES)
        return _MARGIN + decades / _DECADES * (_HEIGHT - 2 * _MARGIN)

    bandwidth = found.peaks.memory_bytes_per_ns
    right = left * 10**_DECADES
    parts = [
        _line(x(left), y(left * bandwidth), x(found.ridge), y(top)),
        _label(x(left), y(left * bandwidth) - 6, f"memory, {bandwidth / 1e3:g} TB/s"),
    ]
    for roof in compute:
        height = y(roof.peak_per_ns)
        start = x(roof.peak_per_ns / bandwidth)
        parts.append(_line(start, height, x(right), height))
        told = f"{roof.name}, {roof.peak_per_ns / 1e3:,.0f} TFLOP/s"
        parts.append(_label(_WIDTH - _MARGIN - 7 * len(told), height - 6, told))
    rate = found.flops / max(found.bound.ns, 1e-9)
    here = x(found.intensity), y(rate)
    parts.append(f'<circle cx="{here[0]:.1f}" cy="{here[1]:.1f}" r="5" fill="#c00"/>')
    told = f"{found.kernel}: {found.intensity:,.1f} FLOP/B, bound by {found.bound.name}"
    parts.append(_label(_MARGIN, _HEIGHT - 16, told))
    space = 'xmlns="http://www.w3.org/2000/svg" font-family="monospace"'
    head = f'<svg {space} font-size="11" width="{_WIDTH}" height="{_HEIGHT}">'
    back = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>'
    title = f"<title>{escape(f'roofline: {found.kernel} on {found.target}')}</title>"
    return "\n".join([head, title, back, *parts, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="#333" stroke-width="1.5"/>'


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'

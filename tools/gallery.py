"""The gallery of the site: the kernels of the library, and what some of them become.

A kernel is compiled for one chip, at its usual sizes, and executed by the emulator. By
default that is done for one kernel of each kind; `all` takes minutes.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from doc_text import code, table
from wave_core.cli.load import find_case, open_session
from wave_view import collect, page, picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from wave_core.compile import KernelCase, Session

CHIP = "gfx942"
ALL = "all"
#: One of each kind that compiles in about a second.
USUAL = (
    *("copy", "elementwise", "softmax", "rms-norm", "cumsum", "rotary", "gather"),
    *("scatter-add", "quantize-rows", "transpose", "moe-route", "conv2d", "gemm"),
    "attention-heads",
)
_HEAD = f"""\
# Gallery

The kernels of [wave-kernels](../../packages/wave-kernels/README.md) at the sizes that
`wave run` takes by itself, and the relative error that their cases allow. Occupancy and
cycles are those of {CHIP}, the first by the compiler, the others by
[the model of the emulator](../emulator.md) from launch to end, which is no measurement.
"""


@dataclass(frozen=True)
class Shown:
    """What the gallery shows of a kernel.

    Attributes:
        name: Its name.
        occupancy: Waves of a SIMD, and what limits them.
        cycles: From launch to end, by the model.
        bound: The roof that it cannot pass.
        picture: The waves of a compute unit over time, as SVG.
        page: All views, as HTML.
    """

    name: str
    occupancy: str
    cycles: float
    bound: str
    picture: str
    page: str


def write(out: Path, wanted: Sequence[str] = USUAL) -> None:
    """Write the page into a folder, with a picture and all views of each kernel."""
    names = list(_session().plugins.kernels)
    chosen = names if ALL in wanted else list(wanted)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        shown = {each.name: each for each in pool.map(show, chosen)}
    out.mkdir(parents=True)
    for each in shown.values():
        (out / f"{each.name}.svg").write_text(each.picture, encoding="utf-8")
        (out / f"{each.name}.html").write_text(each.page, encoding="utf-8")
    parts = [_HEAD, *map(_entry, shown.values()), _overview(names, shown)]
    (out / "README.md").write_text("\n".join(parts), encoding="utf-8")


def show(name: str) -> Shown:
    """Compile a kernel, execute it, and keep what is shown of it."""
    view = collect(_case(name), _session())
    if view.failed or view.missing or view.roofline is None:
        said = [*(p.text for p in view.problems), *(m.why for m in view.missing)]
        message = f"{name} on {CHIP}: {'; '.join(said)}"
        raise ValueError(message)
    return Shown(
        name=name,
        occupancy=dict(view.facts)["occupancy"],
        cycles=view.documents["cycles"]["cycles"]["total"],
        bound=view.roofline["bound_by"],
        picture=picture(view),
        page=page(view),
    )


@cache
def _session() -> Session:
    return open_session()


def _case(name: str) -> KernelCase:
    return find_case(_session(), name, (), (), CHIP)


def _sizes(name: str) -> str:
    return ", ".join(f"{dim}={size}" for dim, size in _case(name).shape.items())


def _overview(names: list[str], shown: dict[str, Shown]) -> str:
    kernels = _session().plugins.kernels
    rows = [
        (
            f"[{name}](#{name})" if name in shown else name,
            kernels[name].value.summary,
            _sizes(name),
            f"{_case(name).tolerance:g}",
            f"{shown[name].cycles:,.0f}" if name in shown else "",
        )
        for name in names
    ]
    columns = ("kernel", "computes", "sizes", "error, at most", "cycles")
    return f"## All kernels\n\n{table(columns, rows)}"


def _entry(shown: Shown) -> str:
    return "\n".join(_lines(shown))


def _lines(shown: Shown) -> Iterator[str]:
    name, case = shown.name, _case(shown.name)
    shape = ",".join(f"{dim}={size}" for dim, size in case.shape.items())
    yield f"## {name}\n"
    yield f"{_session().plugins.kernels[name].value.summary}\n"
    yield f"[![Waves of {name} over time]({name}.svg)]({name}.html)\n"
    rows = (
        ("relative error, at most", f"{case.tolerance:g}"),
        ("occupancy", shown.occupancy),
        ("cycles", f"{shown.cycles:,.0f}"),
        ("bound by", shown.bound),
        ("all views", f"[as a page]({name}.html)"),
        ("the same here", code(f"wave view {name} --target {CHIP} --shape {shape}")),
    )
    yield table(("", ""), rows)

"""Shows what the compiler did with a kernel, and what the simulator saw it do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from wave_core.ir import PLACEMENT
from wave_view import page, view_of_kernel


def demonstrate(kernel, arguments, expected, out):
    """Print every stage of a compiled kernel, run it, write a page of it into `out`."""
    console = Console(highlight=False, width=min(max(Console().width, 120), 160))
    pipeline(console, kernel)
    console.print(panel("the kernel as it was traced", str(kernel.trace_graph)))
    layouts(console, kernel)
    lowered(console, kernel)
    execution(console, kernel, arguments, expected)
    console.print(f"all of it as a page: {written_page(kernel, out)}", style="bold")


def pipeline(console, kernel):
    """Every pass, who provides it, why it stands where it does."""
    table = rows("the pipeline", "phase", "pass", "what it does", "why here", "ms")
    times = {run.name: run.wall_s * 1e3 for run in kernel.timings.passes}
    last = ""
    for row in kernel.pipeline:
        phase = "" if str(row.phase) == last else str(row.phase)
        last = str(row.phase)
        took = f"{times.get(row.name, 0):.1f}"
        table.add_row(phase, row.name, row.summary, row.reason, took)
    console.print(table)


def layouts(console, kernel):
    """Which element each lane and register holds, as index analysis decided."""
    graph = kernel.snapshots("distribute")
    table = rows(
        "who owns what: index of an element from lane and register",
        *("value", "type", "layout", "repeated"),
    )
    seen = set()
    for op in graph.walk():
        placement = graph.facts.get(PLACEMENT, op)
        if placement is None:
            continue
        steps = ", ".join(f"{n}x along {dim}" for dim, n, _ in placement.steps if n > 1)
        layout = str(placement.layout).removeprefix("#layout").strip("()")
        cells = (op.op_name, str(op.type), layout.replace("/1%", "%"), steps)
        if cells not in seen:
            table.add_row(*map(Text, cells))
        seen.add(cells)
    console.print(table)


def lowered(console, kernel):
    """What is left for the machine, and one line of each kind."""
    graph = kernel.graph
    counts = Counter(op.op_name for op in graph.walk())
    table = rows("the lowered kernel: one line per instruction", "op", "count", "first")
    lines = [line.strip() for line in str(graph).splitlines()]
    for name, count in counts.most_common():
        if name in {"read", "mma", "write", "select", "iterate"}:
            first = next(x for x in lines if f" {name} " in f" {x}")
            table.add_row(name, str(count), Text(first.split(" @placement")[0]))
    console.print(table)


def execution(console, kernel, arguments, expected):
    """Run on the lane simulator and compare; what it counted."""
    kernel(*arguments)
    record = kernel.last_run
    difference = (arguments[-1] - expected).abs().max().item()
    table = rows(f"run on `{record.device}`, all checks on", "", "")
    table.add_row("grid", " x ".join(map(str, record.grid)))
    table.add_row("largest error against torch", f"{difference:.2e}")
    table.add_row("largest expected value", f"{expected.abs().max().item():.2f}")
    table.add_row("races, out of bounds, poison", str(len(record.reports)))
    table.add_row("seconds", f"{record.run_s:.3f}")
    for name, value in record.counters.items():
        text = value
        if isinstance(value, dict):
            text = ", ".join(f"{key} {count:,}" for key, count in value.items())
        table.add_row(name.replace("_", " "), str(text or "none"))
    console.print(table)


def written_page(kernel, out):
    """The page of the kernel: source, IR, who owns which element."""
    path = Path(out) / f"{kernel.name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(view_of_kernel(kernel)), encoding="utf-8")
    return path


def rows(title, *columns):
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for column in columns:
        table.add_column(
            column, overflow="fold", style="cyan" if not table.columns else ""
        )
    return table


def panel(title, text):
    return Panel(Text(text.rstrip()), title=title, title_align="left", expand=False)

"""What the benchmarks share: medians of CPU time, a table, JSON, a verdict.

CPU time is that of the process, all threads together: it does not depend on what else
the machine does, as much as that is possible.
"""

from __future__ import annotations

import gc
import json
import platform
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class Figure:
    """One measurement.

    Attributes:
        name: What was measured.
        value: The figure, in ``unit``.
        unit: ``ms``, ``s``, ``MiB``.
        limit: The most it may be; ``None`` where it is only shown.
        least: The least it may be; ``None`` where anything is enough.
        note: What else to know: how often, the spread.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""
    least: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the figure keeps to its limits."""
        high = self.limit is None or self.value <= self.limit
        return high and (self.least is None or self.value >= self.least)

    @property
    def wanted(self) -> str:
        """The limits as text."""
        sides = ((">= ", self.least), ("", self.limit))
        return " ".join(f"{s}{v:g} {self.unit}" for s, v in sides if v is not None)


def cpu_times(work: Callable[[], object], repeats: int, warm: int = 1) -> list[float]:
    """CPU seconds of each call of ``work``, after ``warm`` calls that do not count."""
    for _ in range(warm):
        work()
    times: list[float] = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return times


def median(
    name: str, times: list[float], unit: str = "ms", limit: float | None = None
) -> Figure:
    """The median of CPU times in seconds, shown in ``unit``."""
    scale = {"s": 1.0, "ms": 1e3}[unit]
    low, high = min(times) * scale, max(times) * scale
    note = f"median of {len(times)}, {low:.3g} to {high:.3g}"
    return Figure(name, statistics.median(times) * scale, unit, limit, note)


def report(title: str, figures: Iterable[Figure]) -> None:
    """Print the figures; leave with status 1 where one is beyond its limit.

    With ``--json`` on the command line, one JSON object instead of the table.
    """
    rows = list(figures)
    if "--json" in sys.argv[1:]:
        listed = [asdict(row) | {"passed": row.passed} for row in rows]
        about = {"python": platform.python_version(), "machine": platform.machine()}
        print(json.dumps({"benchmark": title, **about, "figures": listed}))
    else:
        _print_table(title, rows)
    sys.exit(0 if all(row.passed for row in rows) else 1)


def _print_table(title: str, rows: list[Figure]) -> None:
    from rich.console import Console  # noqa: PLC0415 - not while measuring imports
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    for column in ("measured", "figure", "limit", "", ""):
        right = column in {"figure", "limit"}
        table.add_column(column, justify="right" if right else "left")
    for row in rows:
        bad = "too little" if row.least is not None else "too much"
        verdict = "[green]ok[/]" if row.passed else f"[bold red]{bad}[/]"
        shown = verdict if row.wanted else ""
        figure = f"{row.value:.3g} {row.unit}"
        table.add_row(row.name, figure, row.wanted, shown, row.note)
    Console(highlight=False, width=120).print(table)

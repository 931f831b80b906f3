"""How long a launch takes on a GPU."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.executors import PlacesArrays

ROUNDS = 5
"""Measurements of many launches, of which the median counts."""

BURST_S = 0.02
"""How long each of them takes, about."""

MOST = 2000
"""Launches of one at most."""

MOST_IN_GRAPH = 200
"""Launches that are captured at most: capturing takes longer than launching."""


def by_graph(launch: Callable[[], object]) -> float:
    """Microseconds of a launch, by the clock of the GPU and without that of the CPU.

    Launches are captured in a graph, which torch replays between two events. What no
    graph captures, because it waits for the GPU, is timed by `by_bursts`.
    """
    import torch  # noqa: PLC0415 - measuring on a GPU loads it

    cuda: Any = torch.cuda
    rough = by_bursts(launch, cuda.synchronize)
    count = max(1, min(MOST_IN_GRAPH, int(1e6 * BURST_S / rough)))
    graph: Any = cuda.CUDAGraph()
    try:
        with cuda.graph(graph):
            for _ in range(count):
                launch()
    except RuntimeError:
        cuda.synchronize()
        return rough
    graph.replay()
    return statistics.median(_replayed(cuda, graph) for _ in range(ROUNDS)) / count


def _replayed(cuda: Any, graph: Any) -> float:
    """Microseconds of a graph."""
    first, last = (cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    graph.replay()
    last.record()
    last.synchronize()
    return 1e3 * float(first.elapsed_time(last))


def by_bursts(launch: Callable[[], object], wait: Callable[[], object]) -> float:
    """Microseconds of a launch, by the clock of the CPU.

    Medians over bursts of launches, less what one wait costs. Where a kernel is shorter
    than launching it, that is what is measured.
    """
    launch()
    wait()
    once = max(_seconds(launch, wait, 1), 1e-7)
    count = max(1, min(MOST, int(BURST_S / once)))
    count = max(count, min(MOST, int(BURST_S * count / _seconds(launch, wait, count))))
    bursts: list[float] = []
    for _ in range(ROUNDS):
        idle = _seconds(launch, wait, 0)
        bursts.append((_seconds(launch, wait, count) - idle) / count)
    return 1e6 * max(statistics.median(bursts), 1e-9)


def _seconds(launch: Callable[[], object], wait: Callable[[], object], n: int) -> float:
    start = time.perf_counter()
    for _ in range(n):
        launch()
    wait()
    return time.perf_counter() - start


def waiting(device: PlacesArrays) -> Callable[[], None]:
    """What waits for all launches of a device without torch: it fetches one number."""
    import numpy as np  # noqa: PLC0415 - as torch

    here = np.zeros(1, np.float32)
    return partial(device.place(here).fetch, here)

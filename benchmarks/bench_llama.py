"""A transformer block of Llama's sizes on the card that is here, in several ways.

    python benchmarks/bench_llama.py [--json FILE] [--only prefill decode]
        [--ways eager wave wave+inductor inductor]

The block has the sizes of the 7B model and is in bf16: 4096 tokens at once (prefill),
and one token of each of some sequences against a cache of 4096 (decode). Each way is
captured in a CUDA graph and replayed, so that the work of the card is compared. Bursts
are as in `bench_cuda.py`: 0.12 s idle, a warm replay, then replays of about 12 ms
between two events, all ways by turns, in shuffled order; medians of rounds. Beside them
stand replays without a pause, where the card's power decides, and calls from Python.
Results are compared with those in f32. With no card the block is small, and only looked
at.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functions
from torch import nn

ON_CARD = torch.cuda.is_available()
DEVICE = "cuda" if ON_CARD else "cpu"
WIDTH, HEADS, HIDDEN, LENGTH = (4096, 32, 11008, 4096) if ON_CARD else (64, 2, 96, 32)
DECODED = (1, 16)
ROUNDS, IDLE_S, BURST_MS, SUSTAINED = 9, 0.12, 12.0, 70
WAYS = ("eager", "wave", "wave+inductor", "inductor")


def turned(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Rotary embedding of halves, as models write it."""
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat((-second, first), -1) * sines


class Block(nn.Module):
    """Attention and a gated network, each behind a norm and around a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.middle = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def heads(self, x, cosines, sines):
        """Queries, keys and values."""
        parts = self.qkv(self.before(x)).unflatten(-1, (3, HEADS, -1)).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        return turned(q, cosines, sines), turned(k, cosines, sines), v

    def rest(self, x, seen):
        """What follows attention."""
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        inner = self.middle(x)
        return x + self.down(functions.silu(self.gate(inner)) * self.up(inner))


class Prefill(Block):
    """All tokens of a prompt at once."""

    def forward(self, x, cosines, sines):
        """Of causal attention."""
        q, k, v = self.heads(x, cosines, sines)
        seen = functions.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.rest(x, seen)


class Decode(Block):
    """The next token of each sequence, against what is cached of those before."""

    def forward(self, x, cosines, sines, keys, values):
        """Of attention to the cache, whose last row is this token."""
        q, k, v = self.heads(x, cosines, sines)
        keys[:, :, -1:] = k
        values[:, :, -1:] = v
        seen = functions.scaled_dot_product_attention(q, keys, values)
        return self.rest(x, seen)


def inputs(model: type[Block], batch: int, length: int) -> tuple[torch.Tensor, ...]:
    """Random activations, angles, and a cache where there is one."""
    kind = {"device": DEVICE, "dtype": torch.bfloat16}
    x = torch.randn(batch, length, WIDTH, **kind)
    angles = torch.rand(length, WIDTH // HEADS, device=DEVICE) * 6
    turns = (angles.cos().bfloat16(), angles.sin().bfloat16())
    if model is Prefill:
        return (x, *turns)
    shape = (batch, HEADS, LENGTH, WIDTH // HEADS)
    return (x, *turns, torch.randn(shape, **kind), torch.randn(shape, **kind))


@dataclass(frozen=True)
class Row:
    """One way of computing one block.

    Attributes:
        error: The largest deviation from f32, as a part of the largest value.
        first: Seconds of the first call, which compiles.
        replayed: Microseconds of a replay of its graph, in bursts; None without a card.
        sustained: The same, of replays without a pause.
        called: Microseconds of a call from Python.
    """

    what: str
    way: str
    error: float
    first: float
    replayed: float | None = None
    sustained: float | None = None
    called: float | None = None


@dataclass(frozen=True)
class Way:
    """A way that computes a block, its results compared.

    Attributes:
        row: What is known of it.
        graph: Its work as a CUDA graph; None without a card.
    """

    row: Row
    graph: torch.cuda.CUDAGraph | None


def compiled(block: nn.Module, way: str) -> Callable:
    """The block as one of the ways has it."""
    torch.compiler.reset()
    if way == "eager":
        return block
    if way == "inductor":
        mode = "max-autotune-no-cudagraphs" if ON_CARD else None
        return torch.compile(block, fullgraph=True, mode=mode)
    options = {"rest": "inductor"} if way == "wave+inductor" else {}
    return torch.compile(block, backend="wave", fullgraph=True, options=options)


def made(what: str, way: str, block: nn.Module, given, wanted) -> Way:
    call, begun = compiled(block, way), time.perf_counter()
    found = call(*given).float()
    error = float((found - wanted).abs().max() / wanted.abs().max())
    row = Row(what, way, error, time.perf_counter() - begun)
    if not ON_CARD:
        return Way(row, None)
    # Now: what is compiled is forgotten before the next way is.
    (called,) = in_bursts([run := partial(call, *given)])
    return Way(replace(row, called=called), captured(run))


def captured(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """Its graph, after calls that compile and load what it launches."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def microseconds(run: Callable[[], object], count: int) -> float:
    """Of a call, where as many follow each other."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / count


def in_bursts(runs: list[Callable[[], object]]) -> list[float]:
    """Microseconds of each, the medians of rounds in which all take turns."""
    counts = [max(1, round(BURST_MS * 1e3 / microseconds(run, 3))) for run in runs]
    found: list[list[float]] = [[] for _ in runs]
    rng = np.random.default_rng(0)
    for _ in range(ROUNDS):
        for place in rng.permutation(len(runs)):
            time.sleep(IDLE_S)
            runs[place]()
            torch.cuda.synchronize()
            found[place].append(microseconds(runs[place], counts[place]))
    return [statistics.median(each) for each in found]


def timed(ways: list[Way]) -> Iterator[Row]:
    """The rows with what each way takes."""
    replays = [way.graph.replay for way in ways if way.graph is not None]
    if not replays:
        yield from (way.row for way in ways)
        return
    for way, run, replayed in zip(ways, replays, in_bursts(replays), strict=True):
        sustained = microseconds(run, SUSTAINED)
        yield replace(way.row, replayed=replayed, sustained=sustained)


def rows(what: str, batch: int, length: int, ways: list[str]) -> Iterator[Row]:
    """One block, in each way, on the same numbers."""
    torch.manual_seed(0)
    model = Prefill if what.startswith("prefill") else Decode
    block = model().to(DEVICE, torch.bfloat16).eval()
    given = inputs(model, batch, length)
    wanted = block.float()(*(each.float() for each in given))
    block.bfloat16()
    yield from timed([made(what, way, block, given, wanted) for way in ways])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", default=["prefill", "decode"])
    parser.add_argument("--ways", nargs="+", default=WAYS if ON_CARD else WAYS[:2])
    asked = parser.parse_args()
    card = torch.cuda.get_device_name() if ON_CARD else "no card"
    print(f"{card}, torch {torch.__version__}")
    jobs = [(f"prefill {LENGTH}", 1, LENGTH)]
    jobs += [(f"decode {n}", n, 1) for n in DECODED]
    found = []
    with torch.no_grad():
        for job in jobs:
            if job[0].split()[0] in asked.only:
                for row in rows(*job, asked.ways):
                    found.append(asdict(row))
                    print(*(f"{k} {v}" for k, v in found[-1].items()), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps({"card": card, "rows": found}))
    sys.exit(any(row["error"] > 2e-2 for row in found))


if __name__ == "__main__":
    main()

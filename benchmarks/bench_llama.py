"""A transformer block of Llama's sizes on the card that is here, in several ways.

    python benchmarks/bench_llama.py [--json FILE] [--only prefill decode]
        [--ways eager wave wave+inductor inductor]

The block has the sizes of the 7B model and is in bf16: 4096 tokens at once (prefill),
and one token of each of some sequences against a cache of 4096 (decode). Each way is
captured in a CUDA graph and replayed, so that the work of the card is compared; the
time of calls from Python stands beside it. Results are compared with those in f32. With
no card the block is small, and only looked at.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as functions
from torch import nn

ON_CARD = torch.cuda.is_available()
DEVICE = "cuda" if ON_CARD else "cpu"
WIDTH, HEADS, HIDDEN, LENGTH = (4096, 32, 11008, 4096) if ON_CARD else (64, 2, 96, 32)
DECODED = (1, 16)
ROUNDS, BURST = 7, 10
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
        replayed: Microseconds of a replay of its graph; None without a card.
        called: Microseconds of a call from Python.
    """

    what: str
    way: str
    error: float
    first: float
    replayed: float | None = None
    called: float | None = None


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


def measured(what: str, way: str, block: nn.Module, given, wanted) -> Row:
    call, begun = compiled(block, way), time.perf_counter()
    found = call(*given).float()
    error = float((found - wanted).abs().max() / wanted.abs().max())
    row = what, way, error, time.perf_counter() - begun
    if not ON_CARD:
        return Row(*row)
    graph = captured(lambda: call(*given))
    return Row(*row, microseconds(graph.replay), microseconds(lambda: call(*given)))


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


def microseconds(run: Callable[[], object]) -> float:
    """Of a call, the median of bursts."""
    found = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(BURST):
            run()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) * 1e3 / BURST)
    return statistics.median(found)


def rows(what: str, batch: int, length: int, ways: list[str]) -> Iterator[Row]:
    """One block, in each way, on the same numbers."""
    torch.manual_seed(0)
    model = Prefill if what.startswith("prefill") else Decode
    block = model().to(DEVICE, torch.bfloat16).eval()
    given = inputs(model, batch, length)
    wanted = block.float()(*(each.float() for each in given))
    block.bfloat16()
    for way in ways:
        yield measured(what, way, block, given, wanted)


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

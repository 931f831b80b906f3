"""Functions over several cards: are they right, and how fast beside torch's.

    torchrun --nproc-per-node 2 benchmarks/bench_distributed.py [--json FILE] [--small]

Each process has a card of its own, and tensors travel by NCCL; with no card they are
of the CPU, by gloo, small, and only looked at. Without torchrun it starts two. Rates
are of the slowest rank, by bursts as in `bench_cuda.py`; the rival is NCCL's collective
and then cuBLAS, or torch's attention on one card, of the whole sequence.

    python benchmarks/bench_distributed.py --kill [--ranks 2] [--json FILE]

The last of so many processes is killed in the middle of a loop of calls: do all others
end with WV0731, and when? Without torchrun, which would end them itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import scaled_dot_product_attention

from wave_distributed import (
    all_gather_matmul,
    matmul_all_reduce,
    matmul_reduce_scatter,
    ring_attention,
    zigzag_part,
)

ROUNDS, BURST, REPEATS = 5, 10, 200
M, N, K = 8192, 8192, 8192
HEADS, SEQUENCE, CHANNELS = 32, 32_768, 128
LIMIT, SLACK, TO_BEGIN = 20, 20, 300
"""Seconds that the group allows a rank, and that it may take to end and to begin."""

LAST_CALL = 30
"""Of the rank that is killed."""

LOOPS = ("all_gather_matmul", "matmul_reduce_scatter", "ring_attention")
"""What it calls, as `loops` has it."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--loop", choices=LOOPS, help="what a process of --kill does")
    asked = parser.parse_args()
    if asked.kill:
        return told(asked, [kill(name, asked.ranks) for name in LOOPS])
    if "RANK" not in os.environ:
        return start(asked.ranks)
    on_cards = torch.cuda.is_available()
    limit = timedelta(seconds=LIMIT if asked.loop else 60)
    # Who shares the host's switches with others leaves these as they are.
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    if on_cards:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if on_cards else "gloo", timeout=limit)
    if asked.loop:
        return call_on_and_on(asked.loop)
    small = asked.small or not on_cards
    rows = [*products(small=small), *attention(small=small)]
    told(asked, rows if dist.get_rank() == 0 else [])
    dist.destroy_process_group()
    return not all(row["right"] for row in rows)


def told(asked, rows):
    """Print a table, and write it where that is asked for; whether a row is wrong."""
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no card"
    ranks = os.environ.get("WORLD_SIZE", asked.ranks)
    for row in rows:
        print(" ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if rows:
        print(f"{ranks} ranks, {card}")
    if rows and asked.json:
        asked.json.write_text(json.dumps({"card": card, "ranks": ranks, "rows": rows}))
    return not all(row["right"] for row in rows)


def device():
    """Where this rank's tensors are."""
    return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu"


def random(*shape, dtype=torch.bfloat16):
    """Numbers that are the same on each rank."""
    maker = torch.Generator("cpu").manual_seed(sum(shape))
    return torch.randn(*shape, generator=maker).to(device(), dtype)


def products(*, small):
    """Both halves of a layer that is split over the ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for m, n, k in boundaries(size) if small else (*boundaries(size), (M, N, K)):
        a, b = random(m, k), random(k, n)
        wanted = a.double() @ b.double()
        scale = (a.double().abs() @ b.double().abs()).max()
        mine = a.chunk(size)[rank].contiguous(), b.chunk(size, 1)[rank].contiguous()
        halves = a.chunk(size, 1)[rank].contiguous(), b.chunk(size)[rank].contiguous()
        columns, rows = wanted.chunk(size, 1)[rank], wanted.chunk(size)[rank]
        timed = (m, n, k) == (M, N, K)
        work = 2 * m * n * k / size
        for function, operands, rival, want in (
            (all_gather_matmul, mine, gather_then_multiply, columns),
            (matmul_reduce_scatter, halves, multiply_then_scatter, rows),
            (matmul_all_reduce, halves, multiply_then_reduce, wanted),
        ):  # fmt: skip
            ours = lambda f=function, x=operands: f(*x)  # noqa: E731 - one of two runs
            theirs = lambda f=rival, x=operands: f(*x)  # noqa: E731 - the other
            title = f"{function.__name__} {m}x{n}x{k}"
            yield row_of(title, ours, theirs, want, scale, work if timed else 0)


def boundaries(size):
    """Sizes around tiles; ranks divide all of them."""
    return [(x * size, x * size, x * size) for x in (1, 7, 63, 64, 65, 129)]


def gather_then_multiply(a, b):
    """What torch does: all rows, then the product."""
    whole = a.new_empty(a.shape[0] * dist.get_world_size(), a.shape[1])
    dist.all_gather(list(whole.chunk(dist.get_world_size())), a)
    return whole @ b


def multiply_then_scatter(a, b):
    """What torch does: the product, then the sum's rows."""
    whole = a @ b
    found = torch.empty_like(whole.chunk(dist.get_world_size())[0])
    dist.reduce_scatter_tensor(found, whole)
    return found


def multiply_then_reduce(a, b):
    """What torch does: the product, then the sum."""
    whole = a @ b
    dist.all_reduce(whole)
    return whole


def attention(*, small):
    """A sequence that is split over the ranks, beside one card with all of it."""
    size = dist.get_world_size()
    heads = 2 if small else HEADS
    for length in (2 * size, 2 * size * 65, *(() if small else (SEQUENCE,))):
        whole = [random(1, heads, length, CHANNELS) for _ in range(3)]
        for causal in (False, True):
            parts = [zigzag_part(each) for each in whole]
            ours = lambda x=parts, c=causal: ring_attention(*x, causal=c)  # noqa: E731 - one of two runs
            theirs = lambda x=whole, c=causal: scaled_dot_product_attention(  # noqa: E731 - the other
                *x, is_causal=c
            )
            want = zigzag_part(theirs())
            timed = length == SEQUENCE
            work = 4 * heads * length**2 * CHANNELS / size / (2 if causal else 1)
            title = f"ring_attention {heads}x{length}x{CHANNELS} causal={causal}"
            row = row_of(
                title, ours, theirs, want, want.abs().max() * 8, work if timed else 0
            )
            if "ratio" in row:  # of one card's time: the ideal is the number of ranks
                row["share of ideal"] = round(row["ratio"] / size, 3)
            yield row


def row_of(title, ours, theirs, want, scale, work):
    """Whether ours is right and repeats to the bit; with ``work``, rates of both."""
    first = ours()
    error = float((first.double() - want.double()).abs().max() / scale)
    repeats = REPEATS if torch.cuda.is_available() else 2
    same = all(torch.equal(ours(), first) for _ in range(repeats))
    limit = (
        1e-3 + 2**-8 * float(want.double().abs().max() / scale) * dist.get_world_size()
    )
    right = torch.tensor([float(error <= limit and same), error], device=device())
    heard = [torch.empty_like(right) for _ in range(dist.get_world_size())]
    dist.all_gather(heard, right)
    row = {
        "what": title,
        "right": all(bool(each[0]) for each in heard),
        "error": max(float(each[1]) for each in heard),
    }
    if not work or not torch.cuda.is_available():
        return row
    ms, other = bursts(ours, theirs)
    found = {"wave TF/s": work / ms / 1e9, "torch ms": other, "wave ms": ms}
    found["ratio"] = other / ms
    return row | {name: round(value, 3) for name, value in found.items()}


def bursts(*runs):
    """Milliseconds of a call, of the slowest rank: medians of bursts by turns."""
    found = [[] for _ in runs]
    for _ in range(ROUNDS):
        for times, run in zip(found, runs, strict=True):
            time.sleep(0.12)
            run()
            dist.barrier()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(BURST):
                run()
            end.record()
            torch.cuda.synchronize()
            mine = torch.tensor([start.elapsed_time(end) / BURST], device=device())
            dist.all_reduce(mine, dist.ReduceOp.MAX)
            times.append(float(mine))
    return [statistics.median(times) for times in found]


def loops():
    """A call of each function, with operands of this rank."""
    cuda = torch.cuda.is_available()
    n, rows = (4096, 2048) if cuda else (16, 8)
    square, wide = random(n, n), random(rows * dist.get_world_size(), n)
    heads = [random(1, 8 if cuda else 1, rows, CHANNELS) for _ in range(3)]
    return {
        "all_gather_matmul": lambda: all_gather_matmul(wide, square),
        "matmul_reduce_scatter": lambda: matmul_reduce_scatter(wide, square),
        "ring_attention": lambda: ring_attention(*heads, causal=True),
    }


def call_on_and_on(name):
    """Call a function until that fails; the last rank does not get so far."""
    run, last = loops()[name], dist.get_rank() + 1 == dist.get_world_size()
    for count in itertools.count():
        if last and count == LAST_CALL:
            os.kill(os.getpid(), signal.SIGKILL)
        run()


def kill(name, ranks):
    """Whether all others end by code when a rank is killed, and the slowest's seconds.

    A process that ends by a signal, which is what NCCL's watchdog does, has no code.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--loop", name]
    group = {"WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    group |= {"TORCH_NCCL_BLOCKING_WAIT": 1}
    members = [
        subprocess.Popen(
            command,
            env=os.environ | {n: str(v) for n, v in (group | each).items()},
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in ({"RANK": rank, "LOCAL_RANK": rank} for rank in range(ranks))
    ]
    try:
        *others, killed = members
        killed.wait(TO_BEGIN)
        begun = time.monotonic()
        said = [how_it_ends(other, begun + LIMIT + SLACK) for other in others]
        took = time.monotonic() - begun
    finally:
        for member in members:
            member.kill()
    coded = all(other.returncode == 1 for other in others)
    return {
        "what": f"a rank of {name} is killed",
        "right": coded and all("error[WV0731]" in each for each in said),
        "seconds": round(took, 1),
        "limit": LIMIT,
    }


def how_it_ends(process, deadline):
    """What a process says at last; it is ended where it does not end."""
    try:
        return process.communicate(timeout=max(deadline - time.monotonic(), 0))[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]


def start(ranks):
    """Processes of this script, by torchrun."""
    how = ("-m", "torch.distributed.run", "--nproc-per-node", str(ranks))
    command = [sys.executable, *how, *sys.argv]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""Code objects of Triton for a chip that is not there, and what compiling them costs.

``python triton_code.py FILE DIR`` in an environment with Triton. FILE is a row of
`rows.Peer` as JSON. DIR gets ``code.hsaco``, ``code.s`` and ``facts.json``; then each
line on the input is answered with the CPU seconds of one more compilation.

Kernels are as Triton's users write them, on arguments as its launcher describes them:
sizes and addresses are multiples of 16, buffers are smaller than 2 GiB.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

# Nothing is kept between compilations. Fusing products and sums is its default today.
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
import triton.language as tl
from again import serve
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def gemm(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """``c = a b^T``; ``TOGETHER`` rows of tiles run side by side, for L2."""
    tiles_n = tl.cdiv(N, BN)
    band = TOGETHER * tiles_n
    number = tl.program_id(0)
    top = number // band * TOGETHER
    height = min(tl.cdiv(M, BM) - top, TOGETHER)
    tile_m = top + number % band % height
    tile_n = number % band // height
    along = tl.arange(0, BK)
    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BN + tl.arange(0, BN)
    from_a = a + (rows % M)[:, None] * K + along[None, :]
    from_b = b + (columns % N)[None, :] * K + along[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        total = tl.dot(tl.load(from_a), tl.load(from_b), total)
        from_a += BK
        from_b += BK
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def attention(
    q, k, v, o, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):  # fmt: skip
    """Of heads one behind the other; ``q`` holds log2(e) / sqrt(D) already."""
    head = tl.program_id(1) * S * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    within = tl.arange(0, D)
    place = rows[:, None] * D + within[None, :]
    query = tl.load(q + head + place)
    greatest = tl.full((BM,), float("-inf"), tl.float32)
    weights = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, S, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + head + keys[None, :] * D + within[:, None])
        scores = tl.dot(query, key)
        found = tl.maximum(greatest, tl.max(scores, 1))
        powers = tl.exp2(scores - found[:, None])
        kept = tl.exp2(greatest - found)
        weights = weights * kept + tl.sum(powers, 1)
        value = tl.load(v + head + keys[:, None] * D + within[None, :])
        total = tl.dot(powers.to(tl.float16), value, total * kept[:, None])
        greatest = found
    tl.store(o + head + place, total / weights[:, None])


@triton.jit
def softmax(x, y, N, BN: tl.constexpr):
    """Of one row."""
    columns = tl.arange(0, BN)
    place = tl.program_id(0) * N + columns
    row = tl.load(x + place, mask=columns < N, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(y + place, powers / tl.sum(powers, 0), mask=columns < N)


KERNELS = {"gemm": gemm, "attention": attention, "softmax": softmax}


def is_nvidia(row):
    """Whether a row is for NVIDIA's chips."""
    return row["target"].startswith("sm_")


def target_of(row):
    """The chip as Triton names it."""
    if is_nvidia(row):
        return GPUTarget("cuda", int(row["target"][3:].rstrip("a")), 32)
    return GPUTarget("hip", row["target"], 64)


def source_of(row):
    """The kernel with the types of its arguments and its constants."""
    types = row["types"] | dict.fromkeys(row["constants"], "constexpr")
    known = {}
    for position, kind in enumerate(row["types"].values()):
        is_small = kind.startswith("*") and not is_nvidia(row)
        small = [["tt.pointer_range", 32]] if is_small else []
        known[position,] = [["tt.divisibility", 16], *small]
    return ASTSource(KERNELS[row["kernel"]], types, row["constants"], known)


def main():
    row, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    target = target_of(row)

    def compile_once():
        return triton.compile(source_of(row), target=target, options=row["options"])

    code = compile_once()
    out.mkdir(parents=True, exist_ok=True)
    form, text = ("cubin", "ptx") if is_nvidia(row) else ("hsaco", "amdgcn")
    (out / f"code.{form}").write_bytes(code.asm[form])
    (out / "code.s").write_text(code.asm[text])
    facts = {"name": code.metadata.name, "lds_bytes": code.metadata.shared}
    (out / "facts.json").write_text(json.dumps(facts))
    serve(compile_once)


if __name__ == "__main__":
    main()

"""Tiles of matrices in registers: where an element of A, B or D lies.

Written from the layouts of the CDNA3, CDNA4, RDNA3 and RDNA4 ISA, element by element.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import codec
import numpy as np

BITS = {
    "F64": 64, "F32": 32, "XF32": 32, "F16": 16, "BF16": 16, "I8": 8, "IU8": 8,
    "IU4": 4, "FP8": 8, "BF8": 8, "FP6": 6, "BF6": 6, "FP4": 4, "I32": 32,
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    out: str


def parse(name, formats=("", "")):
    """The shape in a mnemonic; ``formats`` are those of F8F6F4."""
    found = re.fullmatch(
        r"V_(?:MFMA|WMMA)_(?:SCALE_)?([A-Z0-9]+)_(\d+)X(\d+)X(\d+)_(?:(\d+)B_)?(.+)",
        name,
    )
    kinds = found[6]
    a, b = formats if kinds == "F8F6F4" else (kinds.split("_") * 2)[:2]
    sizes = (int(found[i]) for i in (2, 3, 4))
    return Shape(*sizes, int(found[5] or 1), a, b, found[1])


def decoder(kind, *, fnuz=False, signed=True):
    """Codes of a type to f64."""
    if kind in ("I8", "IU8", "IU4", "I32"):
        half = 1 << (BITS[kind] - 1)
        shift = half if signed else 0
        return lambda codes: (codes.astype(np.int64) ^ shift) - shift
    if kind == "F64":
        return lambda codes: codes.astype(np.uint64).view(np.float64)
    if kind == "XF32":
        wide, narrow = codec.F32, codec.Format(8, 10, 127)
        to_narrow = lambda c: codec.encode(narrow, codec.decode(wide, c))  # noqa: E731
        return lambda codes: np.array(
            [codec.decode(narrow, to_narrow(c)) for c in codes.ravel()]
        ).reshape(codes.shape)
    if kind == "F32":
        return lambda codes: codes.astype(np.uint32).view(np.float32).astype(float)
    if kind == "F16":
        return lambda codes: codes.astype(np.uint16).view(np.float16).astype(float)
    if kind == "BF16":
        return lambda codes: (
            (codes.astype(np.uint32) << 16).view(np.float32).astype(float)
        )
    name = kind.lower() + ("_fnuz" if fnuz and kind in ("FP8", "BF8") else "")
    form = codec.FORMATS[name]
    table = np.array([codec.decode(form, code) for code in range(1 << form.bits)])
    return lambda codes: table[codes.astype(np.int64)]


def mfma_source(rows, k, blocks, kind=""):
    """Lane and place of every element [blocks, rows, k] of A, or of B transposed."""
    per_lane = rows * k * blocks // 64
    b, i, x = np.indices((blocks, rows, k))
    if kind in ("FP8", "BF8") and per_lane == 32:
        groups = 64 // rows
        return i + rows * (x // 16 % groups), x // (16 * groups) * 16 + x % 16
    return i + rows * (b + blocks * (x // per_lane)), x % per_lane


def mfma_result(shape):
    """Lane and register of every element [blocks, m, n] of C and D."""
    b, i, j = np.indices((shape.blocks, shape.m, shape.n))
    if shape.out == "F64":
        if shape.m == 4:
            return j + 4 * b + 16 * i, np.zeros_like(i)
        return j + 16 * (i % 4), i // 4
    if shape.m == 4:
        return j + 4 * b, i
    groups = 64 // shape.n
    per_block = shape.m * shape.n // 64
    lane = j + shape.n * (i // 4 % groups)
    return lane, b * per_block + i % 4 + 4 * (i // (4 * groups))


def wmma_source(shape, *, gfx12):
    """Lanes and place of every element [1, 16, k]: one lane, or two on gfx11."""
    _, i, x = np.indices((1, 16, shape.k))
    half = shape.k // 2
    if gfx12:
        return [(i + 16 * (x // half), x % half)]
    return [(i, x), (i + 16, x)]


def wmma_result(*, gfx12):
    """Lane and register of every element [1, 16, 16] of D with 32 bits."""
    _, i, j = np.indices((1, 16, 16))
    if gfx12:
        return j + 16 * (i // 8), i % 8
    return j + 16 * (i % 2), i // 2


def pack(codes, lanes, places, bits, count):
    """Registers [n, count] of lanes from codes of elements."""
    whole = [0] * count
    for code, lane, place in zip(codes.flat, lanes.flat, places.flat, strict=True):
        whole[lane] |= int(code) << bits * int(place)
    size = -(-bits * (int(places.max()) + 1) // 32)
    words = [[value >> 32 * k & 0xFFFFFFFF for value in whole] for k in range(size)]
    return np.array(words, np.uint32)


def unpack(words, lanes, places, bits):
    """Codes of elements from registers [n, lanes]."""
    whole = [sum(int(w) << 32 * k for k, w in enumerate(col)) for col in words.T]
    mask = (1 << bits) - 1
    pairs = zip(lanes.flat, places.flat, strict=True)
    found = [whole[lane] >> bits * int(place) & mask for lane, place in pairs]
    return np.array(found, object).reshape(lanes.shape)

"""Every VOP3P instruction against its reference: halves, pairs, dots, mixtures."""

from __future__ import annotations

import zlib

import bitfloats as B
import families
import lanes_of
import numpy as np
import packed_reference as P
import pytest
from assemble import VGPR, encode, execute, machine
from modifiers_reference import with_sign
from scalar_reference import mask, signed

COUNT = 256
PICK = range(0, 3 * COUNT, 3)
SOURCES, OLD = (2, 4, 6), 10
M16 = mask(16)


def table(arch):
    """All names of VOP3P that have a reference."""
    ieee, cdna = arch != "gfx1201", arch.startswith("gfx9")
    return {
        "half": P.halves(ieee=ieee), "pair": P.PAIRS, "dot": P.dots(cdna=cdna),
        "signs": P.SIGNED_BY_NEG, "mix": P.MIXED, "move": {"V_PK_MOV_B32": 2},
    }  # fmt: skip


def words(kind, slot):
    """Registers whose halves, or which themselves, are special values."""
    if kind.endswith("16"):
        low, high = lanes_of.operand(kind, slot), lanes_of.operand(kind, slot + 7)
        return [low[k] | high[-1 - k] << 16 for k in PICK]
    values = lanes_of.operand(kind, slot)
    return [values[k] for k in PICK]


def prepared(arch, columns, *, flush=False):
    """A machine with operands; pairs of registers where a column holds pairs."""
    m = machine(arch, COUNT // families.ARCHITECTURES[arch].lanes)
    m.set_mode(0 if flush else 0xF0)
    for row, column in zip(SOURCES, columns, strict=False):
        for k in range(len(column)):
            m.V[row + k] = np.array(column[k], np.uint32).reshape(m.V[0].shape)
    active = np.random.default_rng(2).integers(0, 4, COUNT) > 0
    m.write_lane_mask(126, slice(None), active.reshape(m.V[0].shape))
    return m, [bool(a) for a in active]


def fields(cls, count, **more):
    known = {n for n, _ in cls._fields}
    named = {f"src{k}": SOURCES[min(k, count - 1)] + VGPR for k in range(3)}
    named |= {"vdst": OLD + VGPR, **more}
    return {k: v for k, v in named.items() if k in known}


def differs(kind, m, row, want, active, old):
    """Lanes of a register that are not as the reference says."""
    got = [int(w) for w in m.V[row].ravel()]
    want = [w if a else o for w, a, o in zip(want, active, old, strict=True)]
    return [
        (k, hex(got[k]), hex(want[k])) for k in lanes_of.differences(kind, got, want)
    ]


def random(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def in_half(word, *, top, kind, negative):
    bits = word >> 16 if top else word & M16
    bits = (
        with_sign(kind, bits, negative=negative, absolute=False) if negative else bits
    )
    return signed(16, bits) if kind == "i16" else bits


def run_half(arch, cls, op, name, flush):
    kind, count, function = table(arch)["half"][name]
    rng = random(name)
    floating = kind == "f16"
    low, high, neg, neg_hi = (int(v) for v in rng.integers(0, 1 << count, 4))
    neg, neg_hi = neg * floating, neg_hi * floating
    clamp = flush and (floating or name[5:8] in ("ADD", "SUB", "MAD"))
    columns = [words(kind, k) for k in range(count)]
    m, active = prepared(arch, [[c] for c in columns], flush=flush)
    old = [int(w) for w in m.V[OLD].ravel()]
    execute(m, encode(cls, op, **fields(
        cls, count, opsel=low, opsel_hi=high & 3, opsel_hi2=high >> 2 & 1 or count < 3,
        neg=neg, neg_hi=neg_hi, clmp=int(clamp))))  # fmt: skip
    want = [0] * COUNT
    for shift, pick, signs in ((0, low, neg), (16, high, neg_hi)):
        for k in range(COUNT):
            values = [
                in_half(columns[j][k], top=pick >> j & 1, kind=kind,
                        negative=signs >> j & 1)
                for j in range(count)
            ]  # fmt: skip
            if flush and floating:
                values = [B.flush(kind, v) for v in values]
            out = lanes_of.finish(
                kind, function(*values), flush=flush,
                clamp=bool(clamp),
            )  # fmt: skip
            want[k] |= out << shift
    return differs("2f16" if floating else "u32", m, OLD, want, active, old)


def run_pair(arch, cls, op, name, flush):
    count, function = P.PAIRS[name]
    rng = random(name)
    low, high, neg, neg_hi = (int(v) for v in rng.integers(0, 1 << count, 4))
    columns = [[words("f32", k), words("f32", k + 7)] for k in range(count)]
    m, active = prepared(arch, columns, flush=flush)
    olds = [[int(w) for w in m.V[OLD + k].ravel()] for k in range(2)]
    execute(m, encode(cls, op, **fields(
        cls, count, opsel=low, opsel_hi=high & 3, opsel_hi2=high >> 2 & 1 or count < 3,
        neg=neg, neg_hi=neg_hi, clmp=int(flush))))  # fmt: skip
    bad = []
    for k, (pick, signs) in enumerate(((low, neg), (high, neg_hi))):
        want = []
        for lane in range(COUNT):
            values = [
                with_sign("f32", columns[j][pick >> j & 1][lane],
                          negative=signs >> j & 1, absolute=False)
                for j in range(count)
            ]  # fmt: skip
            if flush:
                values = [B.flush("f32", v) for v in values]
            want.append(
                lanes_of.finish("f32", function(*values), flush=flush, clamp=flush)
            )
        bad += differs("f32", m, OLD + k, want, active, olds[k])
    return bad


def run_move(arch, cls, op, name, flush):
    columns = [[words("f32", k), words("f32", k + 7)] for k in range(2)]
    bad = []
    for opsel in range(4):
        m, active = prepared(arch, columns, flush=flush)
        olds = [[int(w) for w in m.V[OLD + k].ravel()] for k in range(2)]
        execute(m, encode(cls, op, **fields(cls, 2, opsel=opsel)))
        for k in range(2):
            want = columns[k][opsel >> k & 1]
            bad += differs("u32", m, OLD + k, want, active, olds[k])
    return bad


def run_dot(arch, cls, op, name, flush):
    kind, function = table(arch)["dot"][name]
    parts = name.rpartition("_")[2].lower()
    source = {"f16": "f16", "bf16": "bf16"}.get(parts, "u32")
    columns = [words(source, 0), words(source, 1), words("f32", 2)]
    m, active = prepared(arch, [[c] for c in columns], flush=flush)
    old = [int(w) for w in m.V[OLD].ravel()]
    execute(m, encode(cls, op, **fields(cls, 3)))
    want = [function(*case) for case in zip(*columns, strict=True)]
    return differs(kind, m, OLD, want, active, old)


def run_signs(arch, cls, op, name, flush):
    columns = [words("u32", k) for k in range(3)]
    bad = []
    for neg in range(4):
        m, active = prepared(arch, [[c] for c in columns])
        old = [int(w) for w in m.V[OLD].ravel()]
        execute(m, encode(cls, op, **fields(cls, 3, neg=neg)))
        want = [
            P.dot(P.SIGNED_BY_NEG[name], *case, first=neg & 1, second=neg & 2)
            for case in zip(*columns, strict=True)
        ]
        bad += differs("u32", m, OLD, want, active, old)
    return bad


def mixed(case, half, top, neg, absolute, flush):
    """The product and sum of one lane, in f32."""
    values = []
    for k, word in enumerate(case):
        is_half = bool(half >> k & 1)
        if flush:
            word = _flushed(word, half=is_half)  # noqa: PLW2901
        values.append(
            P.mix_operand(word, half=is_half, top=top >> k & 1, negative=neg >> k & 1,
                          absolute=absolute >> k & 1)
        )  # fmt: skip
    return B.fma("f32", *values)


def _flushed(word, *, half):
    if not half:
        return B.flush("f32", word)
    return B.flush("f16", word & M16) | B.flush("f16", word >> 16) << 16


def run_mix(arch, cls, op, name, flush):
    rng, bad = random(name), []
    columns = [words("f16" if k % 2 else "f32", k) for k in range(3)]
    for _ in range(4):
        half, top, neg, absolute = (int(v) for v in rng.integers(0, 8, 4))
        clamp = bool(rng.integers(0, 2))
        m, active = prepared(arch, [[c] for c in columns], flush=flush)
        old = [int(w) for w in m.V[OLD].ravel()]
        execute(m, encode(cls, op, **fields(
            cls, 3, opsel=top, opsel_hi=half & 3, opsel_hi2=half >> 2, neg=neg,
            neg_hi=absolute, clmp=int(clamp))))  # fmt: skip
        results = [
            lanes_of.finish("f32", mixed(case, half, top, neg, absolute, flush),
                            flush=flush, clamp=clamp)
            for case in zip(*columns, strict=True)
        ]  # fmt: skip
        bad += _mix_differs(m, P.MIXED[name], results, active, old, flush)
    return bad


def _mix_differs(m, place, results, active, old, flush):
    if place == "f32":
        return differs("f32", m, OLD, results, active, old)
    narrow = [B.convert("f32", "f16", r) for r in results]
    narrow = [B.flush("f16", r) if flush else r for r in narrow]
    if place == "high":
        want = [o & M16 | r << 16 for o, r in zip(old, narrow, strict=True)]
    else:
        want = [o & M16 << 16 | r for o, r in zip(old, narrow, strict=True)]
    return differs("2f16", m, OLD, want, active, old)


RUN = {"half": run_half, "pair": run_pair, "move": run_move, "dot": run_dot,
       "signs": run_signs, "mix": run_mix}  # fmt: skip


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("arch", families.ARCHES)
def test_packed_instructions(arch, flush):
    bad = []
    for name_of, op in families.implemented(arch):
        name = families.plain(op.name)
        for kind, rows in table(arch).items():
            if name_of == "VOP3P" and name in rows:
                cls = families.encoding_class(arch, name_of)
                bad += [(name, *b) for b in RUN[kind](arch, cls, op, name, flush)[:3]]
    assert bad == []
